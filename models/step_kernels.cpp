#include "models/step_kernels.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "models/simd.h"

namespace tandem::models {
namespace {

TANDEM_SIMD_CLONES
void plain_sgd_step(const SgdStep& step, const float* __restrict gradient, float* __restrict weights,
                    std::size_t count) {
  const auto [gradient_scale, weight_decay, momentum, nesterov, rate] = step;
  for (std::size_t i = 0; i < count; ++i) {
    const float g = gradient_scale * gradient[i] + weight_decay * weights[i];
    weights[i] -= rate * g;
  }
}

TANDEM_SIMD_CLONES
void momentum_sgd_step(const SgdStep& step, const float* __restrict gradient, float* __restrict weights,
                       float* __restrict velocity, std::size_t count) {
  const auto [gradient_scale, weight_decay, momentum, nesterov, rate] = step;
  for (std::size_t i = 0; i < count; ++i) {
    const float g = gradient_scale * gradient[i] + weight_decay * weights[i];
    const float v = momentum * velocity[i] + g;
    velocity[i] = v;
    weights[i] -= rate * (nesterov ? g + momentum * v : v);
  }
}

TANDEM_SIMD_CLONES
void adam_step(const AdamStep& step, const float* __restrict gradient, float* __restrict weights,
               float* __restrict mean, float* __restrict square, std::size_t count) {
  const AdamStep c = step;
  for (std::size_t i = 0; i < count; ++i) {
    const float g = c.gradient_scale * gradient[i] + c.weight_decay * weights[i];
    const float m = c.beta1 * mean[i] + c.gradient_share * g;
    const float s = c.beta2 * square[i] + c.square_share * g * g;
    mean[i] = m;
    square[i] = s;
    weights[i] = c.weight_scale * weights[i] - c.rate * m / (std::sqrt(s) / c.deviation_scale + c.epsilon);
  }
}

}  // namespace

void apply(const Step& step, const float* gradient, const Block& block) {
  if (const auto* adam = std::get_if<AdamStep>(&step)) {
    adam_step(*adam, gradient, block.weights, block.first_moment, block.second_moment, block.count);
  } else if (block.first_moment != nullptr) {
    momentum_sgd_step(std::get<SgdStep>(step), gradient, block.weights, block.first_moment, block.count);
  } else {
    plain_sgd_step(std::get<SgdStep>(step), gradient, block.weights, block.count);
  }
}

TANDEM_SIMD_CLONES
bool all_finite(std::span<const float> values) {
  // On the bits, because only integer reductions may be reordered and so be vectorized. Without the sign they grow with
  // the magnitude, up to infinity and then NaN.
  constexpr std::int32_t magnitude_bits = 0x7fffffff;
  constexpr std::int32_t infinity = 0x7f800000;
  std::int32_t largest = 0;
  for (const float value : values) {
    largest = std::max(largest, std::bit_cast<std::int32_t>(value) & magnitude_bits);
  }
  return largest < infinity;
}

TANDEM_SIMD_CLONES
double sum_of_squares(std::span<const float> values) {
  // Sums side by side: one alone would wait for each addition to end before the next.
  constexpr std::size_t lanes = 16;
  std::array<double, lanes> sums{};
  const std::size_t whole = values.size() - values.size() % lanes;
  for (std::size_t i = 0; i < whole; i += lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const double value = values[i + lane];
      sums[lane] += value * value;
    }
  }
  for (std::size_t i = whole; i < values.size(); ++i) {
    const double value = values[i];
    sums[i - whole] += value * value;
  }
  double total = 0;
  for (const double sum : sums) total += sum;
  return total;
}

}  // namespace tandem::models
