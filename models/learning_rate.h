#pragma once

#include <cstdint>

#include "config/job.h"

namespace tandem::models {

/// The learning rate of each step: linear warm-up, then constant, step or cosine (see config::Schedule).
class LearningRate {
 public:
  /// `total_steps`: the steps of the whole run; the cosine ends there.
  LearningRate(const config::Optimizer& optimizer, const config::Schedule& schedule, std::int64_t total_steps);

  double at(std::int64_t step) const;

 private:
  double base_;
  config::Schedule schedule_;
  std::int64_t total_steps_;
};

}  // namespace tandem::models
