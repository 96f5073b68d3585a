#include "comm/keys.h"

#include <sys/stat.h>
#include <zmq.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <span>
#include <sstream>
#include <string_view>
#include <system_error>

#include "comm/new_file.h"

namespace tandem::comm {
namespace {

constexpr std::string_view public_word = "tandem-public-key";
constexpr std::string_view secret_word = "tandem-secret-key";

// With the 0 at its end.
using KeyText = std::array<char, key_characters + 1>;

std::string system_text() { return std::generic_category().message(errno); }

void write_line(NewFile& file, std::string_view word, const std::string& key) {
  const std::string line = std::string(word) + " " + key + "\n";
  file.write(std::as_bytes(std::span(line)));
}

/// All keys in the file, each after `word`.
std::vector<std::string> read_keys(const std::filesystem::path& path, std::string_view word) {
  std::ifstream file(path);
  if (!file) throw KeyError(path.string() + ": cannot be read: " + system_text());
  std::vector<std::string> keys;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.empty() || line.front() == '#') continue;
    std::istringstream words(line);
    std::string first, key, more;
    words >> first >> key;
    // Not what is there instead: it may be secret.
    if (first != word || !is_key(key) || words >> more) {
      throw KeyError(path.string() + ":" + std::to_string(number) + ": expected \"" + std::string(word) +
                     "\" and a key of " + std::to_string(key_characters) + " characters");
    }
    keys.push_back(key);
  }
  if (file.bad()) throw KeyError(path.string() + ": cannot be read: " + system_text());
  return keys;
}

void check_private(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) throw KeyError(path.string() + ": cannot be read: " + system_text());
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    throw KeyError(path.string() +
                   ": others than its owner may read or write this secret key; chmod 600 makes it private");
  }
}

}  // namespace

KeyPair make_key_pair() {
  KeyText public_key{}, secret_key{};
  if (zmq_curve_keypair(public_key.data(), secret_key.data()) != 0) {
    throw KeyError(std::string("no key pair can be made: ") + zmq_strerror(zmq_errno()));
  }
  return {public_key.data(), secret_key.data()};
}

std::filesystem::path public_file_of(const std::filesystem::path& secret_file) { return secret_file.string() + ".pub"; }

void write_key_pair(const KeyPair& pair, const std::filesystem::path& secret_file) try {
  NewFile secret = NewFile::named(secret_file, S_IRUSR | S_IWUSR);
  NewFile open = NewFile::named(public_file_of(secret_file), S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH);
  write_line(secret, secret_word, pair.secret_key);
  write_line(open, public_word, pair.public_key);
  secret.keep();
  open.keep();
} catch (const std::system_error& error) {
  throw KeyError(error.what());
}

KeyPair read_key_pair(const std::filesystem::path& secret_file) {
  check_private(secret_file);
  const std::vector<std::string> keys = read_keys(secret_file, secret_word);
  if (keys.size() != 1) {
    throw KeyError(secret_file.string() + ": has " + std::to_string(keys.size()) + " secret keys, expected one");
  }
  KeyText public_key{};
  if (zmq_curve_public(public_key.data(), keys.front().c_str()) != 0) {
    throw KeyError(secret_file.string() + ": has no public key: " + zmq_strerror(zmq_errno()));
  }
  return {public_key.data(), keys.front()};
}

std::vector<std::string> read_public_keys(const std::filesystem::path& file) {
  std::vector<std::string> keys = read_keys(file, public_word);
  if (keys.empty()) throw KeyError(file.string() + ": has no public key");
  return keys;
}

bool is_key(const std::string& key) {
  std::array<std::uint8_t, 32> bytes{};
  return key.size() == key_characters && zmq_z85_decode(bytes.data(), key.c_str()) != nullptr;
}

}  // namespace tandem::comm
