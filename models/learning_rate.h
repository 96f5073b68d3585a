#pragma once

#include <cstdint>

#include "config/job.h"

namespace tandem::models {

/// The learning rate of each step: linear warm-up, then constant, step or cosine (see config::Schedule).
///
/// With W warm-up steps, T steps in all and s = t - W, step t has the rate lr times
///   t < W     (t + 1) / (W + 1)
///   constant  1
///   step      factor ^ floor(s / interval)
///   cosine    final_share + (1 - final_share) * (1 + cos(pi * s / (T - 1 - W))) / 2
/// The cosine has reached final_share at the last step, T - 1, and stays there; where only one step is left after
/// warm-up, that step has the whole rate.
///
/// Immutable: safe from any thread.
class LearningRate {
 public:
  /// `total_steps`: the steps of the whole run; the cosine ends there.
  LearningRate(const config::Optimizer& optimizer, const config::Schedule& schedule, std::int64_t total_steps);

  /// `step` counts from 0.
  double at(std::int64_t step) const;

 private:
  /// Factors of the base rate `step` steps after warm-up.
  double factor(std::int64_t step) const;
  double cosine(std::int64_t step) const;

  double base_;
  config::Schedule schedule_;
  std::int64_t total_steps_;
};

}  // namespace tandem::models
