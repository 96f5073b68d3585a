#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "comm/communicator.h"

namespace tandem::comm::message_mean {

/// Those ranks of a group that exchange parts of vectors, numbered anew from 0 in the order given: the view that an
/// algorithm has of the group. Errors are the group's, and name ranks by the group's numbers.
///
/// Owner only.
class Members {
 public:
  /// The rank at `rank` in `ranks` is this one. `group` outlives this.
  Members(Communicator& group, std::vector<int> ranks, int rank)
      : group_(group), ranks_(std::move(ranks)), rank_(rank) {}

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(ranks_.size()); }

  /// The number in the group of a member.
  int rank_in_group(int member) const { return ranks_[static_cast<std::size_t>(member)]; }

  void send(int to, std::uint32_t tag, std::span<const std::byte> data) const {
    group_.send(rank_in_group(to), tag, data);
  }
  void receive(int from, std::uint32_t tag, std::span<std::byte> data) const {
    group_.receive(rank_in_group(from), tag, data);
  }

 private:
  Communicator& group_;
  const std::vector<int> ranks_;
  const int rank_;
};

}  // namespace tandem::comm::message_mean
