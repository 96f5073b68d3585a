#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "models/optimizer.h"

namespace tandem::models {

/// A state vector as models/replica.h describes it, parameters and then running statistics, or a contiguous part of
/// one, with the optimizer of its parameters. Gradients are as long as the vector. Statistics are added to, not
/// optimized: over them a gradient holds their change.
///
/// Owner only.
class FlatState {
 public:
  /// `rate` as for FlatOptimizer. All values start at 0.
  FlatState(const config::Optimizer& settings, const LearningRate& rate, std::size_t parameters,
            std::size_t statistics);

  /// The true vector.
  std::span<float> values() { return values_; }
  std::span<const float> values() const { return values_; }
  std::span<const float> parameters() const { return parameters_of(values()); }
  std::span<const float> statistics() const { return statistics_of(values()); }

  /// See Replica::advance.
  void advance(std::span<const StepGradient> updates, Prediction prediction, std::span<const StepGradient> in_flight);

  /// Makes `values` the true vector, with no prediction; the optimizer's state stays as it is.
  void adopt(std::span<const float> values);

  /// The vector with the parameters that the last advance() predicted; the true one if it predicted none.
  std::span<const float> predicted() const { return predicts_ ? predicted_ : values_; }

  /// The two parts of a vector like this one.
  template <class Value>
  std::span<Value> parameters_of(std::span<Value> vector) const {
    return vector.first(parameter_count_);
  }
  template <class Value>
  std::span<Value> statistics_of(std::span<Value> vector) const {
    return vector.subspan(parameter_count_);
  }

  FlatOptimizer& optimizer() { return optimizer_; }
  const FlatOptimizer& optimizer() const { return optimizer_; }

 private:
  std::vector<StepGradient> over_parameters(std::span<const StepGradient> gradients) const;

  std::size_t parameter_count_;
  FlatOptimizer optimizer_;
  std::vector<float> values_;
  std::vector<float> predicted_;  // empty until the first prediction
  bool predicts_ = false;
};

}  // namespace tandem::models
