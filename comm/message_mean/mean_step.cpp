#include "comm/message_mean/mean_step.h"

#include <algorithm>

#include "comm/codec.h"
#include "comm/weighted_sum.h"

namespace tandem::comm::message_mean {

namespace {

bool own_is_finite(const MeanStep& step, Range range) {
  return step.contribution.weight == 0 || all_finite(range.of(step.contribution.values));
}

}  // namespace

void encode_contribution(MeanStep& step, Range range) {
  step.outgoing.encode_with_feedback(range.of(step.contribution.values), step.residual.before(range),
                                     step.residual.after(range));
  if (step.outgoing.header().finite != 0) return;
  if (step.culprit && !own_is_finite(step, range)) step.outgoing.name_non_finite_rank(*step.culprit);
}

void add_own(MeanStep& step, Range range) {
  if (step.contribution.weight == 0) return;
  decode_add(config::Codec::none, std::as_bytes(range.of(step.contribution.values)),
             static_cast<float>(step.share_of(step.rank())), step.sum.first(range.size));
}

void encode_sum(MeanStep& step, Range range, std::optional<int> known) {
  step.outgoing.encode_with_feedback(step.sum.first(range.size), step.residual.before(range),
                                     step.residual.after(range));
  if (step.outgoing.header().finite != 0) return;
  if (step.culprit && !own_is_finite(step, range)) {
    known = std::min(*step.culprit, known.value_or(*step.culprit));
  }
  if (known) step.outgoing.name_non_finite_rank(*known);
}

void settle_contribution(MeanStep& step, Range range) {
  Residual& residual = step.residual;
  if (step.contribution.weight == 0) return residual.keep(range);
  const double share = step.share_of(step.rank());
  if (residual.share == 0 || residual.share == share) return;
  residual.add_before(range, static_cast<float>(std::clamp(residual.share / share, 0.5, 2.0) - 1));
}

void commit(MeanStep& step) {
  if (step.contribution.weight != 0) step.residual.share = step.share_of(step.rank());
  step.residual.commit();
}

}  // namespace tandem::comm::message_mean
