#include "comm/message_mean/exchange.h"

#include <algorithm>

namespace tandem::comm::message_mean {

Exchange::Exchange(int members, const MessageMeanOptions& options)
    : algorithm_(options.algorithm),
      codec_(members == 1 ? config::Codec::none : options.codec),
      segment_values_(options.segment_values),
      whole_values_(options.whole_values),
      residual_(codec_ != config::Codec::none),
      outgoing_(codec_, segment_values_, time_),
      incoming_(codec_, segment_values_, time_),
      sum_(segment_values_),
      means_(static_cast<std::size_t>(options.results_kept)) {}

Mean Exchange::run(const Members& members, RollCall& roll_call, const Contribution& contribution,
                   std::optional<int> culprit) {
  const std::size_t count = contribution.values.size();
  time_ = {};
  residual_.begin(count);
  MeanStep step = {.ranks = members,
                   .roll_call = roll_call,
                   .residual = residual_,
                   .outgoing = outgoing_,
                   .incoming = incoming_,
                   .sum = sum_,
                   .shares = {count, members.size(), segment_values_},
                   .contribution = contribution,
                   .culprit = culprit,
                   .mean = next_mean(count),
                   .verdict = {}};
  if (algorithm_ == config::Algorithm::ring) {
    ring_mean(step);
  } else if (is_short(count, members.size())) {
    whole_mean(step);
  } else {
    direct_mean(step);
  }
  if (roll_call.total_weight() == 0) std::ranges::fill(step.mean, 0.0F);
  const bool coded = codec_ != config::Codec::none;
  return {.step = contribution.step,
          .values = step.mean,
          .weight = roll_call.total_weight(),
          .finite = step.verdict.finite,
          .non_finite_rank = step.verdict.non_finite_rank,
          .encoding = coded ? time_.encoding : Duration::zero(),
          .decoding = coded ? time_.decoding : Duration::zero()};
}

bool Exchange::is_short(std::size_t size, int members) const {
  return size <= segment_values_ && size * static_cast<std::size_t>(members - 1) <= whole_values_;
}

std::span<float> Exchange::next_mean(std::size_t size) {
  std::vector<float>& mean = means_[calls_++ % means_.size()];
  mean.resize(size);
  return mean;
}

}  // namespace tandem::comm::message_mean
