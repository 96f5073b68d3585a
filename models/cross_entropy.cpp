#include "models/cross_entropy.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace tandem::models {

BatchLoss softmax_cross_entropy(std::span<float> logits, std::span<const std::int32_t> labels) {
  assert(!labels.empty() && logits.size() % labels.size() == 0);
  const std::size_t classes = logits.size() / labels.size();
  const float share = 1.0F / static_cast<float>(labels.size());
  BatchLoss loss;
  for (std::size_t sample = 0; sample < labels.size(); ++sample) {
    const std::span<float> row = logits.subspan(sample * classes, classes);
    const auto label = static_cast<std::size_t>(labels[sample]);
    const auto largest = std::max_element(row.begin(), row.end());
    loss.correct += static_cast<std::size_t>(largest - row.begin()) == label ? 1 : 0;

    // Exponentials of differences to the largest logit cannot overflow.
    const float offset = *largest;
    const float label_logit = row[label] - offset;
    float sum = 0;
    for (float& value : row) {
      value = std::exp(value - offset);
      sum += value;
    }
    loss.loss_sum += static_cast<double>(std::log(sum) - label_logit);
    for (float& value : row) value *= share / sum;
    row[label] -= share;
  }
  return loss;
}

}  // namespace tandem::models
