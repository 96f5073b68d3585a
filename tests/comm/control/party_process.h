#pragma once

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstdio>
#include <string>
#include <vector>

namespace tandem::test {

/// Running control_party; killed in the end.
class Party {
 public:
  explicit Party(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), CONTROL_PARTY);
    std::vector<char*> pointers;
    for (auto& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    std::array<int, 2> pipe{};
    REQUIRE(::pipe2(pipe.data(), O_CLOEXEC) == 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe[1], STDOUT_FILENO);
    REQUIRE(::posix_spawn(&pid_, CONTROL_PARTY, &actions, nullptr, pointers.data(), environ) == 0);
    posix_spawn_file_actions_destroy(&actions);
    ::close(pipe[1]);
    out_ = ::fdopen(pipe[0], "r");
  }
  Party(const Party&) = delete;
  Party& operator=(const Party&) = delete;
  ~Party() {
    kill(SIGKILL);
    wait();
    std::fclose(out_);
  }

  pid_t pid() const { return pid_; }
  void kill(int signal) {
    if (!ended_) ::kill(pid_, signal);
  }
  /// Returns when it is stopped.
  void stop() {
    kill(SIGSTOP);
    int status = 0;
    REQUIRE(::waitpid(pid_, &status, WUNTRACED) == pid_);
    REQUIRE(WIFSTOPPED(status));
  }
  int wait() {
    if (!ended_) ::waitpid(pid_, &status_, 0);
    ended_ = true;
    return status_;
  }
  std::string line() {
    std::array<char, 256> buffer{};
    if (std::fgets(buffer.data(), buffer.size(), out_) == nullptr) return "";
    std::string text = buffer.data();
    text.pop_back();
    return text;
  }

 private:
  pid_t pid_ = -1;
  std::FILE* out_ = nullptr;
  bool ended_ = false;
  int status_ = 0;
};

}  // namespace tandem::test
