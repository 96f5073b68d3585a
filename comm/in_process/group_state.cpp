#include "comm/in_process/group_state.h"

#include <algorithm>
#include <new>
#include <utility>

namespace tandem::comm::in_process {

GroupState::GroupState(int size, Duration deadline)
    : mail_changed(index(size)), size_(size), deadline_(deadline), left_(index(size)) {}

void GroupState::fail(const Lock&, std::string cause) {
  if (cause_) return;
  cause_ = std::move(cause);
  wake_all();
}

void GroupState::fail_left(const Lock& lock, int rank) {
  fail(lock, "rank " + std::to_string(rank) + " has left the group");
}

bool GroupState::dead(const Lock&) const { return cause_.has_value(); }

const std::string& GroupState::cause(const Lock&) const { return cause_.value(); }

void GroupState::throw_aborted(const Lock& lock, const std::string& call) const {
  throw AbortedError(call + ": the group was aborted: " + cause(lock));
}

void GroupState::leave(const Lock&, int rank) {
  left_[index(rank)] = true;
  wake_all();
}

bool GroupState::has_left(const Lock&, int rank) const { return left_[index(rank)]; }

std::optional<int> GroupState::left_rank(const Lock&) const {
  const auto found = std::ranges::find(left_, true);
  if (found == left_.end()) return std::nullopt;
  return static_cast<int>(found - left_.begin());
}

void GroupState::abort(const std::string& reason) noexcept {
  std::string cause;
  try {
    cause = reason;
  } catch (const std::bad_alloc&) {
    cause = "out of memory";  // short enough to need none
  }
  const Lock lock(mutex);
  fail(lock, std::move(cause));
}

void GroupState::wake_all() {
  collective_changed.notify_all();
  for (auto& changed : mail_changed) changed.notify_all();
}

}  // namespace tandem::comm::in_process
