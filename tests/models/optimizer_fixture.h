#pragma once

#include <bit>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "models/optimizer.h"

// What the tests of FlatOptimizer share.
namespace tandem::models {

using Vector = std::vector<float>;

/// Lengths around the number of elements that the kernels take at once.
inline const std::vector<std::size_t> lengths = {0, 1, 7, 8, 9, 16, 1003};

struct NamedSettings {
  std::string name;
  config::Optimizer settings;
};

/// Every kind of optimizer, with each of its options.
inline std::vector<NamedSettings> all_settings() {
  config::Optimizer sgd;
  sgd.momentum = 0;
  config::Optimizer momentum;
  config::Optimizer nesterov;
  nesterov.nesterov = true;
  config::Optimizer adam;
  adam.kind = config::OptimizerKind::adam;
  adam.lr = 0.01;
  config::Optimizer adamw = adam;
  adamw.kind = config::OptimizerKind::adamw;
  adamw.beta1 = 0.8;
  adamw.beta2 = 0.95;
  adamw.epsilon = 1e-3;

  std::vector<NamedSettings> all;
  for (const NamedSettings& plain :
       {NamedSettings{"sgd", sgd}, NamedSettings{"momentum", momentum}, NamedSettings{"nesterov", nesterov},
        NamedSettings{"adam", adam}, NamedSettings{"adamw", adamw}}) {
    NamedSettings decayed = plain;
    decayed.name += " with weight decay";
    decayed.settings.weight_decay = 0.1;
    NamedSettings clipped = decayed;
    clipped.name += " and clipping";
    clipped.settings.clip_norm = 0.5;
    all.insert(all.end(), {plain, decayed, clipped});
  }
  return all;
}

/// Rates that differ from step to step.
inline LearningRate warming_up(const config::Optimizer& settings) {
  config::Schedule schedule;
  schedule.warmup_steps = 100;
  return LearningRate(settings, schedule, 1000);
}

inline LearningRate constant_rate(const config::Optimizer& settings) { return LearningRate(settings, {}, 1000); }

inline Vector random_vector(std::size_t length, std::uint32_t seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  Vector values(length);
  for (float& value : values) value = normal(generator);
  return values;
}

inline std::vector<Vector> random_vectors(std::size_t count, std::size_t length, std::uint32_t seed) {
  std::vector<Vector> vectors;
  for (std::size_t i = 0; i < count; ++i)
    vectors.push_back(random_vector(length, seed + static_cast<std::uint32_t>(i)));
  return vectors;
}

/// As the gradients of steps first, first + 1, ...
inline std::vector<StepGradient> as_steps(const std::vector<Vector>& gradients, std::int64_t first) {
  std::vector<StepGradient> steps;
  for (const Vector& gradient : gradients) steps.push_back({.step = first++, .values = gradient});
  return steps;
}

/// For comparisons that tell 0 from -0, and hold for equal NaNs.
inline std::vector<std::uint32_t> bits(std::span<const float> values) {
  std::vector<std::uint32_t> result;
  for (const float value : values) result.push_back(std::bit_cast<std::uint32_t>(value));
  return result;
}

inline void apply_updates(FlatOptimizer& optimizer, Vector& weights, std::span<const StepGradient> updates) {
  optimizer.advance(weights, {}, updates, Prediction::none, {});
}

}  // namespace tandem::models
