#include "models/step_rule.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace tandem::models {
namespace {

/// Brings the norm of `gradient` down to `clip_norm`. The small term is PyTorch's, against a division by zero.
float clip_factor(std::span<const float> gradient, double clip_norm) {
  return static_cast<float>(std::min(1.0, clip_norm / (std::sqrt(sum_of_squares(gradient)) + 1e-6)));
}

}  // namespace

int StepRule::moments() const {
  if (!is_sgd()) return 2;
  return settings_.momentum != 0 ? 1 : 0;
}

Step StepRule::with_gradient(const StepGradient& gradient, std::int64_t count) const {
  const float scale = settings_.clip_norm ? clip_factor(gradient.values, *settings_.clip_norm) : 1.0f;
  if (is_sgd()) {
    SgdStep numbers = sgd_step(gradient.step);
    numbers.gradient_scale = scale;
    return numbers;
  }
  AdamStep numbers = adam_step(gradient.step, count);
  numbers.gradient_scale = scale;
  return numbers;
}

Step StepRule::with_momentum_alone(std::int64_t step, std::int64_t count) const {
  if (is_sgd()) {
    SgdStep numbers = sgd_step(step);
    numbers.weight_decay = 0;
    return numbers;
  }
  AdamStep numbers = adam_step(step, count);
  numbers.weight_decay = 0;
  numbers.weight_scale = 1;
  // Holds the second moment.
  numbers.beta2 = 1;
  numbers.square_share = 0;
  return numbers;
}

SgdStep StepRule::sgd_step(std::int64_t step) const {
  SgdStep numbers;
  numbers.weight_decay = static_cast<float>(settings_.weight_decay);
  numbers.momentum = static_cast<float>(settings_.momentum);
  numbers.nesterov = settings_.nesterov;
  numbers.rate = static_cast<float>(rate_.at(step));
  return numbers;
}

AdamStep StepRule::adam_step(std::int64_t step, std::int64_t count) const {
  const double lr = rate_.at(step);
  const bool decoupled = settings_.kind == config::OptimizerKind::adamw;
  const auto updates = static_cast<double>(count);
  AdamStep numbers;
  numbers.weight_decay = static_cast<float>(decoupled ? 0 : settings_.weight_decay);
  numbers.weight_scale = static_cast<float>(decoupled ? 1 - lr * settings_.weight_decay : 1);
  numbers.beta1 = static_cast<float>(settings_.beta1);
  numbers.gradient_share = static_cast<float>(1 - settings_.beta1);
  numbers.beta2 = static_cast<float>(settings_.beta2);
  numbers.square_share = static_cast<float>(1 - settings_.beta2);
  numbers.rate = static_cast<float>(lr / (1 - std::pow(settings_.beta1, updates)));
  numbers.deviation_scale = static_cast<float>(std::sqrt(1 - std::pow(settings_.beta2, updates)));
  numbers.epsilon = static_cast<float>(settings_.epsilon);
  return numbers;
}

}  // namespace tandem::models
