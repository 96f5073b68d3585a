#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "config/job.h"
#include "models/learning_rate.h"
#include "models/replica.h"
#include "models/step_rule.h"

namespace tandem::models {

/// SGD (momentum, Nesterov, weight decay), Adam or AdamW on one flat vector, with the meaning of PyTorch's optimizers
/// of these names, and the predictions that pipelined training needs. The learning rate of an update is the one of its
/// step, times its rate_share. Clipping scales a gradient by clip_norm / (Euclidean norm + 1e-6) where that is less
/// than 1, as PyTorch does; gradients in flight like mean ones.
///
/// A predicted step has the bits of a real step with the same gradient, so a prediction from gradients in flight that
/// turn out to be the means equals the weights to come.
///
/// Owner only. Holds the optimizer's state (momentum, or Adam's two moments), not the weights.
class FlatOptimizer {
 public:
  /// `parameters`: the length of all vectors below.
  FlatOptimizer(const config::Optimizer& settings, const LearningRate& rate, std::size_t parameters);

  /// Applies `updates`, all of them finite, to `weights` and the state, then writes into `predicted` the weights that
  /// `prediction` says (untouched for Prediction::none; may be empty then). See Replica::advance. No two vectors
  /// overlap.
  ///
  /// Prediction::momentum takes, for each step in flight, the step that a gradient of zero would make, without weight
  /// decay and with Adam's second moment held: w -= lr * mu * v at width 2. It needs only the gradients' steps and
  /// reads no values, so it doesn't see which are not finite.
  ///
  /// One pass over memory; with clipping one more over each gradient, for its norm; and where a gradient in flight is
  /// not finite one more, to predict without it.
  void advance(std::span<float> weights, std::span<float> predicted, std::span<const StepGradient> updates,
               Prediction prediction, std::span<const StepGradient> in_flight);

  /// Adam's bias correction counts these.
  std::int64_t updates_applied() const { return updates_applied_; }

  /// State and the number of updates applied, in this machine's byte order. load() throws std::runtime_error, and
  /// changes nothing, if the bytes are not of an optimizer of the same kind and length.
  std::vector<std::byte> save() const;
  void load(std::span<const std::byte> saved);

 private:
  StepRule rule_;
  std::size_t parameters_;
  std::vector<float> first_moment_;   // SGD's velocity, Adam's mean gradient; empty for SGD without momentum
  std::vector<float> second_moment_;  // Adam's mean squared gradient
  std::int64_t updates_applied_ = 0;
};

}  // namespace tandem::models
