#include "comm/message_mean/mean_step.h"

namespace tandem::comm::message_mean {
namespace {

/// Makes a sum of what has come, if anything, and of this rank's contribution. Returns the lowest of the other ranks
/// whose contribution is not finite.
std::optional<int> sum_segment(MeanStep& step, Range range, bool is_first) {
  const std::span<float> sum = step.sum.first(range.size);
  Verdict others;
  if (is_first) {
    std::ranges::fill(sum, -0.0F);  // adding to it changes nothing; 0 would turn -0 into 0
  } else {
    step.incoming.decode(sum);
    others.add(step.incoming.header());
  }
  add_own(step, range);
  return others.non_finite_rank;
}

/// Sends on a partial sum, with this rank's contribution in it. A rank that has none leaves its residual alone.
void pass_on(MeanStep& step, Range range, bool is_first) {
  const int next = step.rank_after(1);
  if (step.contribution.weight != 0) {
    encode_sum(step, range, sum_segment(step, range, is_first));
    step.outgoing.send(step.ranks, next, Tag::partial_sum);
    return;
  }
  step.residual.keep(range);
  if (is_first) {
    sum_segment(step, range, is_first);
    step.outgoing.encode(step.sum.first(range.size));
    step.outgoing.send(step.ranks, next, Tag::partial_sum);
  } else {
    step.incoming.send(step.ranks, next, Tag::partial_sum);
  }
}

/// Completes the sum of a segment of this rank's share, and sends it around the ring.
void complete(MeanStep& step, Range range, bool is_first) {
  encode_sum(step, range, sum_segment(step, range, is_first));
  if (step.size() > 1) step.outgoing.send(step.ranks, step.rank_after(1), Tag::mean);
  step.outgoing.decode(range.of(step.mean));
  step.verdict.add(step.outgoing.header());
}

/// The share of rank r begins at rank r + 1 and ends, complete, at rank r.
void reduce(MeanStep& step) {
  for (int hop = 0; hop < step.size(); ++hop) {
    const int owner = step.rank_before((hop + 1) % step.size());
    for (std::size_t number = 0; number < step.shares.segments(owner); ++number) {
      const Range range = step.shares.segment(owner, number);
      const bool is_first = hop == 0;
      if (!is_first) step.incoming.receive(step.ranks, step.rank_before(1), Tag::partial_sum, range.size);
      if (owner == step.rank()) {
        complete(step, range, is_first);
      } else {
        pass_on(step, range, is_first);
      }
    }
  }
}

void gather(MeanStep& step) {
  for (int hop = 1; hop < step.size(); ++hop) {
    const int owner = step.rank_before(hop);
    const bool is_last = step.rank_after(1) == owner;
    for (std::size_t number = 0; number < step.shares.segments(owner); ++number) {
      const Range range = step.shares.segment(owner, number);
      step.incoming.receive(step.ranks, step.rank_before(1), Tag::mean, range.size);
      if (!is_last) step.incoming.send(step.ranks, step.rank_after(1), Tag::mean);
      step.incoming.decode(range.of(step.mean));
      step.verdict.add(step.incoming.header());
    }
  }
}

}  // namespace

void ring_mean(MeanStep& step) {
  // Sums are of parts of the mean, so each rank must know what its contribution counts.
  step.roll_call.await();
  if (step.roll_call.total_weight() == 0) return;
  reduce(step);
  gather(step);
  if (step.verdict.finite) step.residual.commit();
}

}  // namespace tandem::comm::message_mean
