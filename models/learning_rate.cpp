#include "models/learning_rate.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>

namespace tandem::models {

LearningRate::LearningRate(const config::Optimizer& optimizer, const config::Schedule& schedule,
                           std::int64_t total_steps)
    : base_(optimizer.lr), schedule_(schedule), total_steps_(total_steps) {}

double LearningRate::at(std::int64_t step) const {
  assert(step >= 0);
  if (step < schedule_.warmup_steps) {
    return base_ * static_cast<double>(step + 1) / static_cast<double>(schedule_.warmup_steps + 1);
  }
  return base_ * factor(step - schedule_.warmup_steps);
}

double LearningRate::factor(std::int64_t step) const {
  switch (schedule_.kind) {
    case config::ScheduleKind::constant:
      return 1;
    case config::ScheduleKind::step:
      return std::pow(schedule_.factor, static_cast<double>(step / schedule_.interval));
    case config::ScheduleKind::cosine:
      return cosine(step);
  }
  assert(false);
  return 1;
}

double LearningRate::cosine(std::int64_t step) const {
  const std::int64_t last = total_steps_ - 1 - schedule_.warmup_steps;
  if (last <= 0) return 1;
  const double progress = std::min(1.0, static_cast<double>(step) / static_cast<double>(last));
  const double falling = (1 + std::cos(std::numbers::pi * progress)) / 2;  // from 1 to 0
  return schedule_.final_share + (1 - schedule_.final_share) * falling;
}

}  // namespace tandem::models
