#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "comm/store.h"

namespace tandem::comm::test {

/// A Store in a folder that processes share, for measurements between hosts that one machine emulates.
class FileStore : public Store {
 public:
  explicit FileStore(std::filesystem::path folder) : folder_(std::move(folder)) {}

  void set(const std::string& key, std::span<const std::byte> value) override {
    const auto unfinished = path_of(key + ".unfinished");
    std::ofstream(unfinished, std::ios::binary)
        .write(reinterpret_cast<const char*>(value.data()), static_cast<std::streamsize>(value.size()));
    std::filesystem::rename(unfinished, path_of(key));
  }

  std::optional<std::vector<std::byte>> get(const std::string& key,
                                            std::chrono::steady_clock::time_point deadline) override {
    while (!std::filesystem::exists(path_of(key))) {
      if (std::chrono::steady_clock::now() >= deadline) return std::nullopt;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    std::ifstream file(path_of(key), std::ios::binary);
    const std::string value((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    const auto bytes = std::as_bytes(std::span(value));
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  }

 private:
  std::filesystem::path path_of(std::string key) const {
    for (char& letter : key) {
      if (letter == '/') letter = '_';
    }
    return folder_ / key;
  }

  const std::filesystem::path folder_;
};

}  // namespace tandem::comm::test
