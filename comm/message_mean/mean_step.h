#pragma once

#include <algorithm>
#include <optional>
#include <span>

#include "comm/communicator.h"
#include "comm/message_mean/members.h"
#include "comm/message_mean/residual.h"
#include "comm/message_mean/roll_call.h"
#include "comm/message_mean/segment_message.h"
#include "comm/message_mean/shares.h"

// The two algorithms (comm/message_mean.h), and what they work on.
namespace tandem::comm::message_mean {

/// What is known of the numbers in a mean.
struct Verdict {
  bool finite = true;
  std::optional<int> non_finite_rank;

  void add(const SegmentHeader& segment) {
    if (segment.finite == 0) finite = false;
    if (segment.non_finite_rank == SegmentHeader::no_rank) return;
    non_finite_rank = std::min<int>(segment.non_finite_rank, non_finite_rank.value_or(segment.non_finite_rank));
  }
};

/// One call of all_reduce_mean on one of those that exchange parts of vectors. Ranks here are the members' numbers, but
/// for those that are named as not finite.
struct MeanStep {
  const Members& ranks;
  /// This rank has entered the call.
  RollCall& roll_call;
  Residual& residual;
  SegmentMessage& outgoing;
  SegmentMessage& incoming;
  /// Memory for the sum of a segment.
  std::span<float> sum;
  Shares shares;
  const Contribution& contribution;
  /// The rank to name if the contribution is not finite, if one is to be named.
  std::optional<int> culprit;
  /// What comes out, on every rank.
  std::span<float> mean;
  Verdict verdict;

  int rank() const { return ranks.rank(); }
  int size() const { return ranks.size(); }
  int rank_after(int distance) const { return (rank() + distance) % size(); }
  int rank_before(int distance) const { return (rank() + size() - distance) % size(); }

  /// After roll_call.await(), if the total weight is not 0: what a contribution counts in the mean.
  double share_of(int contributor) const {
    return roll_call.weights()[static_cast<std::size_t>(contributor)] / roll_call.total_weight();
  }
};

/// Both write the mean and the verdict, or leave them alone if the total weight is 0.
void direct_mean(MeanStep& step);
void ring_mean(MeanStep& step);

/// What both need: adds this rank's contribution to the sum of the segment `range`, unless its weight is 0.
void add_own(MeanStep& step, Range range);

/// Puts the sum of the segment `range` into the outgoing message, with feedback and a header: `known` is the lowest
/// rank of which the sum's other contributions are known not to be finite.
void encode_sum(MeanStep& step, Range range, std::optional<int> known);

}  // namespace tandem::comm::message_mean
