#include "comm/message_mean/mean_step.h"
#include "comm/weighted_sum.h"

namespace tandem::comm::message_mean {
namespace {

void send_to_all(MeanStep& step, Range whole) {
  encode_contribution(step, whole);
  for (int distance = 1; distance < step.size(); ++distance) {
    step.roll_call.send(step.ranks.rank_in_group(step.rank_after(distance)), step.outgoing.message(Tag::contribution));
  }
}

/// Sums what all ranks have sent, in rank order.
void sum_all(MeanStep& step, Range whole) {
  std::ranges::fill(step.mean, -0.0F);  // adding to it changes nothing; 0 would turn -0 into 0
  for (int rank = 0; rank < step.size(); ++rank) {
    if (step.share_of(rank) == 0) continue;
    const bool own = rank == step.rank();
    if (!own) step.incoming.receive(step.ranks, rank, Tag::contribution, whole.size);
    const SegmentMessage& contribution = own ? step.outgoing : step.incoming;
    step.verdict.add(contribution.header());
    contribution.decode_add(static_cast<float>(step.share_of(rank)), step.mean);
  }
  if (!all_finite(step.mean)) step.verdict.finite = false;
}

}  // namespace

void whole_mean(MeanStep& step) {
  const Range whole = {.begin = 0, .size = step.mean.size()};
  if (step.contribution.weight != 0) send_to_all(step, whole);
  step.roll_call.await();
  if (step.roll_call.total_weight() == 0) return;
  sum_all(step, whole);
  if (!step.verdict.finite) return;
  settle_contribution(step, whole);
  commit(step);
}

}  // namespace tandem::comm::message_mean
