#include "comm/message_mean/mean_step.h"

#include "comm/codec.h"
#include "comm/weighted_sum.h"

namespace tandem::comm::message_mean {

void add_own(MeanStep& step, Range range) {
  if (step.contribution.weight == 0) return;
  decode_add(config::Codec::none, std::as_bytes(range.of(step.contribution.values)),
             static_cast<float>(step.share_of(step.rank())), step.sum.first(range.size));
}

void encode_sum(MeanStep& step, Range range, std::optional<int> known) {
  step.outgoing.encode_with_feedback(step.sum.first(range.size), step.residual.before(range),
                                     step.residual.after(range));
  if (step.outgoing.header().finite != 0) return;
  if (step.culprit && step.contribution.weight != 0 && !all_finite(range.of(step.contribution.values))) {
    known = std::min(*step.culprit, known.value_or(*step.culprit));
  }
  if (known) step.outgoing.name_non_finite_rank(*known);
}

}  // namespace tandem::comm::message_mean
