#pragma once

#include <cstdint>
#include <span>

namespace tandem::models {

struct BatchLoss {
  /// Sum over the samples, not the mean.
  double loss_sum = 0;
  /// Samples whose largest logit is their label's; of equal logits the first counts.
  std::int64_t correct = 0;
};

/// Cross entropy of the softmax of `logits` (a row of logits.size() / labels.size() for each label), which are replaced
/// by the gradient of the mean loss. One pass, since on small models the separate tensor operations would take longer
/// than the model itself. A logit of NaN or +infinity makes the loss and its row of the gradient NaN.
BatchLoss softmax_cross_entropy(std::span<float> logits, std::span<const std::int32_t> labels);

}  // namespace tandem::models
