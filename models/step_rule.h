#pragma once

#include <cstddef>
#include <cstdint>

#include "config/job.h"
#include "models/learning_rate.h"
#include "models/replica.h"
#include "models/step_kernels.h"

namespace tandem::models {

/// Turns the settings of an optimizer into the numbers of its steps. Each is computed in double precision and rounded to
/// float32 once, as PyTorch does.
///
/// Immutable: safe from any thread. In both functions `count` is the number of updates applied, this step's included.
class StepRule {
 public:
  StepRule(const config::Optimizer& settings, const LearningRate& rate) : settings_(settings), rate_(rate) {}

  const config::Optimizer& settings() const { return settings_; }
  /// How many vectors of state the optimizer has: none, the first moment, or both.
  int moments() const;

  /// The step with `gradient`, clipped; reads its values only if clipping is on.
  Step with_gradient(const StepGradient& gradient, std::int64_t count) const;

  /// What momentum alone does in step `step`: to be applied with a gradient of zero.
  Step with_momentum_alone(std::int64_t step, std::int64_t count) const;

 private:
  SgdStep sgd_step(std::int64_t step) const;
  AdamStep adam_step(std::int64_t step, std::int64_t count) const;
  bool is_sgd() const { return settings_.kind == config::OptimizerKind::sgd; }

  config::Optimizer settings_;
  LearningRate rate_;
};

}  // namespace tandem::models
