#include "comm/file_store.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <thread>

namespace tandem::comm::test {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;

/// A folder of its own, removed at the end.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "file_store_test.XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

}  // namespace

TEST_CASE("what one store sets another on the same folder gets, under every key") {
  const Folder folder;
  FileStore writer(folder.path());
  FileStore reader(folder.path());
  const std::vector<std::string> keys = {"job/rank/0", "job_rank_0", "job%2frank", "..", ".", "Ä b\n"};
  for (const std::string& key : keys) {
    writer.set(key, bytes_of("value of " + key));
  }
  for (const std::string& key : keys) {
    REQUIRE(reader.get(key, steady_clock::now()) == bytes_of("value of " + key));
  }
  writer.set("nothing", {});
  REQUIRE(reader.get("nothing", steady_clock::now()) == bytes_of(""));
}

TEST_CASE("what is not set is nothing at the deadline, and is waited for until then") {
  const Folder folder;
  FileStore store(folder.path());
  REQUIRE_FALSE(store.get("late", steady_clock::now()));
  std::thread writer([&] { FileStore(folder.path()).set("late", bytes_of("here")); });
  const auto value = store.get("late", steady_clock::now() + seconds(60));
  writer.join();
  REQUIRE(value == bytes_of("here"));
}

TEST_CASE("a key is set once, whoever tries, and keeps its value") {
  const Folder folder;
  std::atomic<int> done = 0;
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 4; ++writer) {
    writers.emplace_back([&, writer] {
      try {
        FileStore(folder.path()).set("key", bytes_of(std::to_string(writer)));
        ++done;
      } catch (const std::runtime_error&) {
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  REQUIRE(done == 1);
  FileStore store(folder.path());
  const auto value = store.get("key", steady_clock::now());
  REQUIRE_THROWS_WITH(store.set("key", bytes_of("x")),
                      Catch::Contains("\"key\"") && Catch::Contains(folder.path().string()));
  REQUIRE(store.get("key", steady_clock::now()) == value);
  // Nothing but the key's file is left.
  REQUIRE(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("a value that cannot be written is an error that says why, and leaves nothing") {
  const Folder folder;
  FileStore store(folder.path());
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small = {.rlim_cur = 100, .rlim_max = before.rlim_max};
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &small);
  std::string error;
  try {
    store.set("key", std::vector<std::byte>(1000));
  } catch (const std::runtime_error& failed) {
    error = failed.what();
  }
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, handler);
  CHECK_THAT(error, Catch::StartsWith((folder.path() / "key").string()) && Catch::EndsWith("File too large"));
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("a folder that is not there is an error that names it") {
  REQUIRE_THROWS_WITH(FileStore("/nowhere/at/all"), Catch::Contains("/nowhere/at/all"));
  auto folder = std::make_unique<Folder>();
  FileStore store(folder->path());
  folder.reset();
  REQUIRE_THROWS_AS(store.set("key", {}), std::runtime_error);
}

}  // namespace tandem::comm::test
