#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

// The arithmetic of the optimizers: one sweep over the flat vectors, which takes any number of steps on a few elements
// in registers before it turns to the next. So each vector is read, and written, once.
//
// Each operation is rounded to float32 by itself, in the order written: none is fused with another (the build says
// -ffp-contract=off), and sums have a fixed order. So a step has the same bits on every processor, at every
// optimization level, wherever an element lies in the vector, and whether it is real or predicted. The sweep is bound
// by memory, so this costs nothing.
//
// Free functions without state: safe from any thread, on data of one's own.
namespace tandem::models {

enum class Method { sgd, momentum, nesterov, adam };

/// How many vectors of state a method has: none, the first moment, or the first and the second.
int moments(Method method);

/// One step, as numbers. With w the weight, m and s its first and second moment, and
/// g = gradient_scale * gradient + weight_decay * w:
///   sgd       w -= rate * g
///   momentum  m = beta1 * m + gradient_share * g;  w -= rate * m
///   nesterov  m = beta1 * m + gradient_share * g;  w -= rate * (g + beta1 * m)
///   adam      m = beta1 * m + gradient_share * g;  s = beta2 * s + square_share * g * g
///             w = weight_scale * w - rate * m / (sqrt(s) / deviation_scale + epsilon)
struct StepNumbers {
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

/// Elements that are in registers at a time.
constexpr std::size_t lanes = 8;

/// A step and the gradient it takes.
struct PlannedStep {
  StepNumbers numbers;
  /// As long as the weights; null for a gradient of zero (only in predictions).
  const float* gradient = nullptr;
  /// Per lane, the largest gradient seen in a prediction: its bits without the sign, which grow with the magnitude up
  /// to infinity and then NaN.
  std::array<std::int32_t, lanes> largest_bits{};

  /// No value that a prediction saw was NaN or infinite.
  bool finite() const;
};

/// What to do in one sweep over vectors of `count` elements. No two of them overlap.
struct Sweep {
  std::size_t count = 0;
  float* weights = nullptr;
  /// Not read where the method has no such moment.
  float* first_moment = nullptr;
  float* second_moment = nullptr;
  /// Taken on weights and moments.
  std::span<const PlannedStep> updates;
  /// Taken after these on a copy of weights and moments, of which only the weights are kept: in `predicted`.
  std::span<PlannedStep> prediction;
  /// Null for no prediction.
  float* predicted = nullptr;
};
void run(Method method, const Sweep& sweep);

/// In double precision, so that no finite vector overflows.
double sum_of_squares(std::span<const float> values);

}  // namespace tandem::models
