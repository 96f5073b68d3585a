#pragma once

#include <cstddef>
#include <span>
#include <variant>

// The arithmetic of the optimizers, on one stretch of the flat vectors.
//
// Each operation is rounded to float32 by itself, in the order written: none is fused with another (the build says
// -ffp-contract=off) and sums have a fixed order. So a result has the same bits on every processor, at every optimization
// level and wherever a stretch begins or ends. Steps are bound by memory, so this costs nothing.
//
// Free functions without state: safe from any thread, on data of one's own.
namespace tandem::models {

/// A stretch of the weights and the optimizer's moments, changed in place. The arrays do not overlap.
struct Block {
  std::size_t count = 0;
  float* weights = nullptr;
  float* first_moment = nullptr;   ///< SGD's velocity or Adam's mean gradient; null for SGD without momentum
  float* second_moment = nullptr;  ///< Adam's mean squared gradient; null for SGD
};

/// A step of SGD, as numbers:
///   g = gradient_scale * gradient + weight_decay * w;  v = momentum * v + g
///   w -= rate * (g without velocity, v with it, g + momentum * v if nesterov)
struct SgdStep {
  float gradient_scale = 1;
  float weight_decay = 0;
  float momentum = 0;
  bool nesterov = false;
  float rate = 0;
};

/// A step of Adam or AdamW, as numbers:
///   g = gradient_scale * gradient + weight_decay * w
///   m = beta1 * m + gradient_share * g;  s = beta2 * s + square_share * g * g
///   w = weight_scale * w - rate * m / (sqrt(s) / deviation_scale + epsilon)
struct AdamStep {
  float gradient_scale = 1;
  float weight_decay = 0;
  float weight_scale = 1;
  float beta1 = 0;
  float gradient_share = 1;
  float beta2 = 0;
  float square_share = 1;
  float rate = 0;
  float deviation_scale = 1;
  float epsilon = 0;
};

using Step = std::variant<SgdStep, AdamStep>;

/// Takes the step with `gradient`, block.count values that do not overlap with the block.
void apply(const Step& step, const float* gradient, const Block& block);

/// No value is NaN or infinite.
bool all_finite(std::span<const float> values);

/// In double precision, so that no finite vector overflows.
double sum_of_squares(std::span<const float> values);

}  // namespace tandem::models
