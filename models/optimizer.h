#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "config/job.h"
#include "models/learning_rate.h"
#include "models/replica.h"

namespace tandem::models {

/// SGD (momentum, Nesterov, weight decay), Adam or AdamW on one flat vector, with the meaning of PyTorch's optimizers
/// of these names, and the predictions that pipelined training needs. The learning rate of an update is the one of its
/// step. Clipping scales a gradient by clip_norm / norm where its Euclidean norm is larger.
///
/// Owner only. Holds the optimizer's state (momentum, or Adam's two moments), not the weights.
class FlatOptimizer {
 public:
  /// `parameters`: the length of all vectors below.
  FlatOptimizer(const config::Optimizer& settings, LearningRate rate, std::size_t parameters);
  ~FlatOptimizer();
  FlatOptimizer(FlatOptimizer&&) noexcept;

  /// Applies `updates` to `weights` and the state, then writes into `predicted` the weights that `prediction` says
  /// (untouched for Prediction::none). See Replica::advance. One pass over memory where there is at most one update and
  /// no clipping; with clipping one more pass over each gradient, for its norm.
  void advance(std::span<float> weights, std::span<float> predicted, std::span<const StepGradient> updates,
               Prediction prediction, std::span<const StepGradient> in_flight);

  std::int64_t updates_applied() const;

  /// State and the number of updates applied. load() throws std::runtime_error if the bytes are not of an optimizer of the
  /// same kind and length.
  std::vector<std::byte> save() const;
  void load(std::span<const std::byte> saved);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tandem::models
