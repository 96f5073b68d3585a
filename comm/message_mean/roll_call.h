#pragma once

#include <span>
#include <vector>

#include "comm/communicator.h"
#include "comm/wire.h"

namespace tandem::comm::message_mean {

/// How the ranks of a group find out, by messages, whether all came to the same collective. Owner only.
class RollCall {
 public:
  explicit RollCall(Communicator& ranks);

  /// Tells all other ranks what this one has come to.
  void announce(const CallHeader& call);

  /// Waits until all other ranks have announced theirs; so nobody returns before all have come. Where one differs from
  /// this rank's, aborts the group with what differs, naming both ranks and both values, and throws it as CommError.
  void await();

  /// After await(): those of all ranks, in rank order, and their sum.
  std::span<const double> weights() const { return weights_; }
  double total_weight() const { return total_weight_; }

 private:
  Communicator& ranks_;
  CallHeader own_;
  std::vector<double> weights_;  // by rank
  double total_weight_ = 0;
  std::vector<int> missing_;  // ranks that have not announced theirs
};

}  // namespace tandem::comm::message_mean
