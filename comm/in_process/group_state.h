#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.h"

namespace tandem::comm::in_process {

using Clock = std::chrono::steady_clock;
using Lock = std::unique_lock<std::mutex>;

inline std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

/// What the collectives and the messages of one group share: one mutex, who has left, and why the group died.
///
/// Threads: everything but abort() and the constructor is called with `mutex` held, which a Lock argument shows.
class GroupState {
 public:
  GroupState(int size, Duration deadline);

  int size() const { return size_; }
  Duration deadline() const { return deadline_; }

  /// Kills the group with `cause`, unless it is dead already, and wakes every waiting rank.
  void fail(const Lock& lock, std::string cause);
  /// The same, because `rank` is waited for but its end is destroyed.
  void fail_left(const Lock& lock, int rank);
  bool dead(const Lock& lock) const;
  /// Why the group died; only when it is dead.
  const std::string& cause(const Lock& lock) const;
  /// For a call that did not cause the failure itself; `call` names it.
  [[noreturn]] void throw_aborted(const Lock& lock, const std::string& call) const;

  void leave(const Lock& lock, int rank);
  bool has_left(const Lock& lock, int rank) const;
  /// The lowest rank whose end is destroyed.
  std::optional<int> left_rank(const Lock& lock) const;

  /// If there is no memory for a copy of `reason`, the group dies of that instead.
  void abort(const std::string& reason) noexcept;

  std::mutex mutex;
  /// Where ranks wait for each other in collectives.
  std::condition_variable collective_changed;
  /// By receiving rank: where it waits for messages.
  std::vector<std::condition_variable> mail_changed;

 private:
  void wake_all();

  const int size_;
  const Duration deadline_;
  std::vector<bool> left_;
  std::optional<std::string> cause_;
};

}  // namespace tandem::comm::in_process
