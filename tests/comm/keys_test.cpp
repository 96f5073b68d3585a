#include "comm/keys.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace tandem::comm {
namespace {

namespace fs = std::filesystem;

/// A folder that is gone in the end.
struct Folder {
  Folder() {
    std::string name = (fs::temp_directory_path() / "tandem-keys-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path); }

  fs::path path;
};

std::string read(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const fs::path& path, const std::string& text) {
  std::ofstream(path) << text;
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
}

fs::perms mode(const fs::path& path) { return fs::status(path).permissions(); }

TEST_CASE("a pair is written so that its secret is its owner's alone, whatever the mask, and is read back") {
  const Folder folder;
  const fs::path file = folder.path / "driver";
  const KeyPair pair = make_key_pair();
  CHECK(is_key(pair.public_key));
  CHECK(is_key(pair.secret_key));
  const mode_t mask = ::umask(0);
  write_key_pair(pair, file);
  ::umask(mask);
  CHECK(mode(file) == (fs::perms::owner_read | fs::perms::owner_write));
  CHECK(public_file_of(file) == folder.path / "driver.pub");
  CHECK(read(file) == "tandem-secret-key " + pair.secret_key + "\n");
  CHECK(read(public_file_of(file)) == "tandem-public-key " + pair.public_key + "\n");
  const KeyPair back = read_key_pair(file);
  CHECK(back.public_key == pair.public_key);
  CHECK(back.secret_key == pair.secret_key);
  CHECK(read_public_keys(public_file_of(file)) == std::vector{pair.public_key});
  CHECK(make_key_pair().secret_key != pair.secret_key);
}

TEST_CASE("no file is replaced, and what fails leaves none") {
  const Folder folder;
  const fs::path file = folder.path / "node";
  write_key_pair(make_key_pair(), file);
  const std::string secret = read(file), open = read(public_file_of(file));
  CHECK_THROWS_WITH(write_key_pair(make_key_pair(), file),
                    Catch::Contains(file.string() + ": cannot be made: File exists"));
  CHECK(read(file) == secret);
  fs::remove(file);
  CHECK_THROWS_WITH(write_key_pair(make_key_pair(), file), Catch::Contains("node.pub: cannot be made: File exists"));
  CHECK_FALSE(fs::exists(file));
  CHECK(read(public_file_of(file)) == open);
  CHECK_THROWS_AS(write_key_pair(make_key_pair(), folder.path / "none" / "node"), KeyError);
}

TEST_CASE("a secret key that others may read is not used") {
  const Folder folder;
  const fs::path file = folder.path / "node";
  write_key_pair(make_key_pair(), file);
  const auto more = GENERATE(fs::perms::group_read, fs::perms::others_read, fs::perms::group_write);
  fs::permissions(file, more, fs::perm_options::add);
  CHECK_THROWS_WITH(read_key_pair(file), Catch::Contains("chmod 600"));
}

TEST_CASE("public keys are listed one a line, between comments and empty lines") {
  const Folder folder;
  const std::string first = make_key_pair().public_key, second = make_key_pair().public_key;
  write(folder.path / "nodes", "# our nodes\n\ntandem-public-key " + first + "\ntandem-public-key " + second + "  \n");
  CHECK(read_public_keys(folder.path / "nodes") == std::vector{first, second});
}

TEST_CASE("a file that is none of keys is an error that names file and line, and shows no key") {
  const Folder folder;
  const fs::path file = folder.path / "keys";
  const KeyPair pair = make_key_pair();
  const std::string line = "tandem-public-key " + pair.public_key;
  const auto [text, at] = GENERATE_COPY(table<std::string, std::string>({
      {line + "\nnonsense\n", ":2:"},
      {line + "x\n", ":1:"},
      {line.substr(0, line.size() - 1) + "\n", ":1:"},
      {line + " more\n", ":1:"},
      {"tandem-secret-key " + pair.secret_key + "\n", ":1:"},
      {"tandem-public-key " + std::string(40, '~') + "\n", ":1:"},
      {"# nothing\n", ": has no public key"},
      {"", ": has no public key"},
  }));
  write(file, text);
  CHECK_THROWS_WITH(read_public_keys(file), Catch::StartsWith(file.string() + at) && !Catch::Contains(pair.secret_key));
  CHECK_THROWS_WITH(read_public_keys(folder.path / "none"), Catch::Contains("No such file"));
  CHECK_THROWS_WITH(read_key_pair(folder.path / "none"), Catch::Contains("No such file"));
}

TEST_CASE("a file of a secret key has exactly one") {
  const Folder folder;
  const fs::path file = folder.path / "keys";
  const std::string line = "tandem-secret-key " + make_key_pair().secret_key + "\n";
  write(file, line + line);
  CHECK_THROWS_WITH(read_key_pair(file), Catch::Contains("has 2 secret keys"));
  write(file, "");
  CHECK_THROWS_WITH(read_key_pair(file), Catch::Contains("has 0 secret keys"));
}

}  // namespace
}  // namespace tandem::comm
