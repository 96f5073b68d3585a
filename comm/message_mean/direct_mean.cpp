#include "comm/message_mean/mean_step.h"

namespace tandem::comm::message_mean {
namespace {

/// Sends the other ranks what this one has for their shares. Each rank begins with the one after it, so that not all
/// send to the same.
void scatter(MeanStep& step) {
  for (std::size_t number = 0; number < step.shares.segments(); ++number) {
    for (int distance = 1; distance < step.size(); ++distance) {
      const int owner = step.rank_after(distance);
      const Range range = step.shares.segment(owner, number);
      if (range.size == 0) continue;
      encode_contribution(step, range);
      step.roll_call.send(step.ranks.rank_in_group(owner), step.outgoing.message(Tag::contribution));
    }
  }
}

/// Sums what all ranks have for a segment of this rank's share, in rank order. Returns the lowest of the other ranks
/// whose contribution is not finite.
std::optional<int> sum_segment(MeanStep& step, Range range) {
  const std::span<float> sum = step.sum.first(range.size);
  std::ranges::fill(sum, -0.0F);  // adding to it changes nothing; 0 would turn -0 into 0
  Verdict others;
  for (int rank = 0; rank < step.size(); ++rank) {
    if (rank == step.rank()) {
      add_own(step, range);
    } else if (step.roll_call.weights()[static_cast<std::size_t>(rank)] != 0) {
      step.incoming.receive(step.ranks, rank, Tag::contribution, range.size);
      others.add(step.incoming.header());
      step.incoming.decode_add(static_cast<float>(step.share_of(rank)), sum);
    }
  }
  return others.non_finite_rank;
}

/// Makes the mean of this rank's share, for all.
void reduce_own_share(MeanStep& step) {
  for (std::size_t number = 0; number < step.shares.segments(step.rank()); ++number) {
    const Range range = step.shares.segment(step.rank(), number);
    encode_sum(step, range, sum_segment(step, range));
    for (int distance = 1; distance < step.size(); ++distance) {
      step.outgoing.send(step.ranks, step.rank_after(distance), Tag::mean);
    }
    step.outgoing.decode(range.of(step.mean));
    step.verdict.add(step.outgoing.header());
  }
}

void gather(MeanStep& step) {
  for (std::size_t number = 0; number < step.shares.segments(); ++number) {
    for (int distance = 1; distance < step.size(); ++distance) {
      const int owner = step.rank_before(distance);
      const Range range = step.shares.segment(owner, number);
      if (range.size == 0) continue;
      step.incoming.receive(step.ranks, owner, Tag::mean, range.size);
      step.incoming.decode(range.of(step.mean));
      step.verdict.add(step.incoming.header());
    }
  }
}

}  // namespace

void direct_mean(MeanStep& step) {
  if (step.contribution.weight != 0) scatter(step);
  step.roll_call.await();
  if (step.roll_call.total_weight() == 0) return;
  reduce_own_share(step);
  gather(step);
  if (!step.verdict.finite) return;
  for (int distance = 1; distance < step.size(); ++distance) {
    settle_contribution(step, step.shares.share(step.rank_after(distance)));
  }
  commit(step);
}

}  // namespace tandem::comm::message_mean
