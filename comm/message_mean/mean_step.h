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

// The algorithms (comm/message_mean.h), and what they work on.
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

/// These write the mean and the verdict, or leave them alone if the total weight is 0.
void direct_mean(MeanStep& step);
/// `direct` for a vector that is short: of one segment.
void whole_mean(MeanStep& step);
void ring_mean(MeanStep& step);

// What they share.

/// Puts this rank's contribution to `range` into the outgoing message, with feedback.
void encode_contribution(MeanStep& step, Range range);

/// Adds this rank's contribution to the sum of the segment `range`, unless its weight is 0.
void add_own(MeanStep& step, Range range);

/// Puts the sum of the segment `range` into the outgoing message, with feedback and a header: `known` is the lowest
/// rank of which the sum's other contributions are known not to be finite.
void encode_sum(MeanStep& step, Range range, std::optional<int> known);

/// Completes what is owed for `range`, where encode_contribution() has been called if the weight is not 0.
///
/// Residuals of contributions are in units of this rank's values, since it encodes them before it knows what they
/// count. If they count another share of the mean than before, what was added of the old residual was too much or too
/// little, by a multiple of the old residual, which is owed too. A change by more than a factor of two is only made up
/// for in part: residuals would grow without bound where shares swing to and fro.
void settle_contribution(MeanStep& step, Range range);

/// The call counts; what is owed for contributions has been settled.
void commit(MeanStep& step);

}  // namespace tandem::comm::message_mean
