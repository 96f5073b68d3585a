#include "models/flat_state.h"

#include <algorithm>
#include <cassert>
#include <functional>

namespace tandem::models {

FlatState::FlatState(const config::Optimizer& settings, const LearningRate& rate, std::size_t parameters,
                     std::size_t statistics)
    : parameter_count_(parameters), optimizer_(settings, rate, parameters), values_(parameters + statistics) {}

void FlatState::advance(std::span<const StepGradient> updates, Prediction prediction,
                        std::span<const StepGradient> in_flight) {
  predicts_ = prediction != Prediction::none;
  if (predicts_) predicted_.resize(values_.size());
  optimizer_.advance(parameters_of(values()), std::span(predicted_).first(predicts_ ? parameter_count_ : 0),
                     over_parameters(updates), prediction, over_parameters(in_flight));
  const std::span<float> statistics = statistics_of(values());
  for (const StepGradient& update : updates) {
    const auto share = static_cast<float>(update.rate_share);
    std::transform(statistics.begin(), statistics.end(), statistics_of(update.values).begin(), statistics.begin(),
                   [share](float value, float change) { return value + share * change; });
  }
  if (predicts_) std::copy(statistics.begin(), statistics.end(), statistics_of(std::span(predicted_)).begin());
}

void FlatState::adopt(std::span<const float> values) {
  assert(values.size() == values_.size());
  std::copy(values.begin(), values.end(), values_.begin());
  predicts_ = false;
}

std::vector<StepGradient> FlatState::over_parameters(std::span<const StepGradient> gradients) const {
  std::vector<StepGradient> parts(gradients.begin(), gradients.end());
  for (StepGradient& part : parts) {
    // Where a prediction goes by momentum alone there are no values.
    if (!part.values.empty()) part.values = parameters_of(part.values);
  }
  return parts;
}

}  // namespace tandem::models
