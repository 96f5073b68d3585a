#include "models/step_rule.h"

#include <algorithm>
#include <cmath>

namespace tandem::models {
namespace {

/// Brings the norm of `gradient` down to `clip_norm`. The small term is PyTorch's, against a division by zero.
float clip_factor(const StepGradient& gradient, double clip_norm) {
  const double squared_norm = gradient.squared_norm ? *gradient.squared_norm : sum_of_squares(gradient.values);
  return static_cast<float>(std::min(1.0, clip_norm / (std::sqrt(squared_norm) + 1e-6)));
}

}  // namespace

Method StepRule::method() const {
  if (settings_.kind != config::OptimizerKind::sgd) return Method::adam;
  if (settings_.momentum == 0) return Method::sgd;
  return settings_.nesterov ? Method::nesterov : Method::momentum;
}

PlannedStep StepRule::with_gradient(const StepGradient& gradient, std::int64_t count) const {
  StepNumbers n = numbers(gradient, count);
  if (settings_.clip_norm) n.gradient_scale = clip_factor(gradient, *settings_.clip_norm);
  return {.numbers = n, .gradient = gradient.values.data()};
}

PlannedStep StepRule::with_momentum_alone(const StepGradient& gradient, std::int64_t count) const {
  StepNumbers n = numbers(gradient, count);
  n.weight_decay = 0;
  n.weight_scale = 1;
  // The velocity itself moves the weights; a Nesterov step would take beta1 of it.
  if (method() == Method::nesterov) n.rate /= n.beta1;
  // Holds the second moment.
  n.beta2 = 1;
  n.square_share = 0;
  return {.numbers = n, .gradient = nullptr};
}

StepNumbers StepRule::numbers(const StepGradient& gradient, std::int64_t count) const {
  const double lr = rate_.at(gradient.step) * gradient.rate_share;
  return method() == Method::adam ? adam_numbers(lr, count) : sgd_numbers(lr);
}

StepNumbers StepRule::sgd_numbers(double lr) const {
  StepNumbers n;
  n.weight_decay = static_cast<float>(settings_.weight_decay);
  n.beta1 = static_cast<float>(settings_.momentum);
  n.rate = static_cast<float>(lr);
  return n;
}

StepNumbers StepRule::adam_numbers(double lr, std::int64_t count) const {
  const bool decoupled = settings_.kind == config::OptimizerKind::adamw;
  const auto updates = static_cast<double>(count);
  StepNumbers n;
  n.weight_decay = static_cast<float>(decoupled ? 0 : settings_.weight_decay);
  n.weight_scale = static_cast<float>(decoupled ? 1 - lr * settings_.weight_decay : 1);
  n.beta1 = static_cast<float>(settings_.beta1);
  n.gradient_share = static_cast<float>(1 - settings_.beta1);
  n.beta2 = static_cast<float>(settings_.beta2);
  n.square_share = static_cast<float>(1 - settings_.beta2);
  n.rate = static_cast<float>(lr / (1 - std::pow(settings_.beta1, updates)));
  n.deviation_scale = static_cast<float>(std::sqrt(1 - std::pow(settings_.beta2, updates)));
  n.epsilon = static_cast<float>(settings_.epsilon);
  return n;
}

}  // namespace tandem::models
