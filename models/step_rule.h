#pragma once

#include <cstdint>

#include "config/job.h"
#include "models/learning_rate.h"
#include "models/replica.h"
#include "models/step_kernels.h"

namespace tandem::models {

/// Turns the settings of an optimizer into the numbers of its steps. Each is computed in double precision and rounded
/// to float32 once, as PyTorch does.
///
/// Immutable: safe from any thread. In both functions `count` is the number of updates applied, this step's included.
class StepRule {
 public:
  StepRule(const config::Optimizer& settings, const LearningRate& rate) : settings_(settings), rate_(rate) {}

  config::OptimizerKind kind() const { return settings_.kind; }
  Method method() const;

  /// The step with `gradient`, clipped; reads its values only if clipping is on and its norm is not given.
  PlannedStep with_gradient(const StepGradient& gradient, std::int64_t count) const;

  /// What momentum alone does in the step of `gradient`, of which no values are read.
  PlannedStep with_momentum_alone(const StepGradient& gradient, std::int64_t count) const;

 private:
  StepNumbers numbers(const StepGradient& gradient, std::int64_t count) const;
  StepNumbers sgd_numbers(double lr) const;
  StepNumbers adam_numbers(double lr, std::int64_t count) const;

  config::Optimizer settings_;
  LearningRate rate_;
};

}  // namespace tandem::models
