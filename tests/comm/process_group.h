#pragma once

#include <sys/types.h>

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "comm/store.h"

namespace tandem::comm::test {

/// What a process of a ProcessGroup has of the test that started it.
class Parent : public Store {
 public:
  /// Owns the socket.
  explicit Parent(int socket) : socket_(socket) {}

  void set(const std::string& key, std::span<const std::byte> value) override;
  /// Once for a key, if it is not there in time: the answer may come later.
  std::optional<std::vector<std::byte>> get(const std::string& key,
                                            std::chrono::steady_clock::time_point deadline) override;

  /// For ProcessGroup::await_report().
  void report(const std::string& text);

 private:
  void send(char kind, const std::string& text);

  const int socket_;
};

/// Processes, forked from this one, which must have no other threads at that time. They share a Store that this
/// process keeps while it waits for their reports. Owner only.
class ProcessGroup {
 public:
  /// Each process runs `body` with its number and ends; an exception is its last report.
  ProcessGroup(int size, const std::function<void(int, Parent&)>& body);
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;
  /// Kills those that still run.
  ~ProcessGroup();

  /// The next report of that process; throws std::runtime_error if it has ended without one.
  std::string await_report(int number);

  void signal(int number, int signal);

  /// In the store.
  void set(const std::string& key, const std::string& value);

 private:
  struct Process {
    pid_t id = 0;
    int socket = -1;
    bool ended = false;
    std::deque<std::string> reports;
    std::string wanted_key;  // that it waits for; empty if it does not
  };

  void serve();
  void take_message(Process& process);
  /// If it waits for what is there now.
  void answer(Process& process);

  std::vector<Process> processes_;
  std::map<std::string, std::string> values_;
};

}  // namespace tandem::comm::test
