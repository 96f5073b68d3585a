#include "comm/file_store.h"

#include <array>
#include <cctype>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

#include "comm/new_file.h"

namespace tandem::comm {
namespace {

constexpr auto kAskAgain = std::chrono::milliseconds(5);

/// What no two keys have in common, and any file may be called.
std::string file_name(const std::string& key) {
  std::string name;
  for (const char letter : key) {
    const auto code = static_cast<unsigned char>(letter);
    if (std::isalnum(code) != 0 || letter == '-') {
      name += letter;
      continue;
    }
    std::array<char, 4> text{};
    std::snprintf(text.data(), text.size(), "%%%02x", code);
    name += text.data();
  }
  return name;
}

}  // namespace

FileStore::FileStore(std::filesystem::path folder) : folder_(std::move(folder)) {
  if (!std::filesystem::is_directory(folder_)) throw std::runtime_error(folder_.string() + " is no folder");
}

void FileStore::set(const std::string& key, std::span<const std::byte> value) {
  const std::filesystem::path path = path_of(key);
  NewFile unfinished = NewFile::unique(path);
  unfinished.write(value);
  std::error_code failed;
  // Unlike a renamed file, a link does not replace what is there.
  std::filesystem::create_hard_link(unfinished.path(), path, failed);
  if (failed == std::errc::file_exists) {
    throw std::runtime_error("\"" + key + "\" is in " + folder_.string() +
                             " already: a group needs a folder of its own");
  }
  if (failed) throw std::system_error(failed, "cannot write " + path.string());
}

std::optional<std::vector<std::byte>> FileStore::get(const std::string& key,
                                                     std::chrono::steady_clock::time_point deadline) {
  const std::filesystem::path path = path_of(key);
  while (!std::filesystem::exists(path)) {
    if (std::chrono::steady_clock::now() >= deadline) return std::nullopt;
    std::this_thread::sleep_for(kAskAgain);
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  const std::string value((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (file.bad()) throw std::runtime_error("cannot read " + path.string());
  const auto bytes = std::as_bytes(std::span(value));
  return std::vector<std::byte>(bytes.begin(), bytes.end());
}

std::filesystem::path FileStore::path_of(const std::string& key) const { return folder_ / file_name(key); }

}  // namespace tandem::comm
