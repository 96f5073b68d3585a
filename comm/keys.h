#pragma once

#include <cstddef>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

// CURVE keys: who may take part in a run over networks that are not trusted. Each party has a pair; it proves that it
// holds the secret key, and is known by the public key.
//
// A key file is a text of lines "tandem-public-key KEY" or "tandem-secret-key KEY", with KEY in Z85 (40 characters).
// Empty lines and lines that begin with # count for nothing. The file of a secret key has just that one; a file of
// public keys has any number, so that files can be put together to a list of those who may join.
namespace tandem::comm {

/// Of a key in Z85.
inline constexpr std::size_t key_characters = 40;

/// In Z85.
struct KeyPair {
  std::string public_key;
  std::string secret_key;
};

/// A file of keys cannot be written, read or made sense of; what() names it, the line where there is one, and why.
class KeyError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A new pair, from the system's source of randomness.
KeyPair make_key_pair();

/// Where the public key of the pair in `secret_file` is written: the same name with ".pub" added.
std::filesystem::path public_file_of(const std::filesystem::path& secret_file);

/// Writes the secret key so that only the owner of the process may read it (mode 0600), and the public key beside it.
/// Refuses to replace a file. Throws KeyError; then neither is left.
void write_key_pair(const KeyPair& pair, const std::filesystem::path& secret_file);

/// The pair of the secret key in that file. Throws KeyError, also if others than its owner may read the file.
KeyPair read_key_pair(const std::filesystem::path& secret_file);

/// The keys in a file of public keys, at least one. Throws KeyError.
std::vector<std::string> read_public_keys(const std::filesystem::path& file);

/// Whether `key` is so many characters of Z85, which stand for 32 bytes.
bool is_key(const std::string& key);

}  // namespace tandem::comm
