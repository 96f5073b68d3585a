#include "models/optimizer.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <stdexcept>
#include <string>

#include "models/step_kernels.h"

namespace tandem::models {
namespace {

// The vectors are walked through in blocks, and all steps are taken on one block before the next. So each vector is read
// from memory once, whatever the number of steps, and the copy that a prediction changes never leaves the cache.
constexpr std::size_t block_length = 1024;

alignas(64) constexpr std::array<float, block_length> zeros{};

/// A step, and the gradient it takes: as long as the weights, or empty for zero.
struct PlannedStep {
  Step step;
  std::span<const float> gradient;
  /// False once a value of the gradient was seen that is not. Only looked for in predictions.
  bool finite = true;

  std::span<const float> block(std::size_t first, std::size_t count) const {
    return gradient.empty() ? std::span<const float>(zeros).first(count) : gradient.subspan(first, count);
  }
};
using Plan = std::vector<PlannedStep>;

/// The steps that follow `applied` updates.
Plan plan_steps(const StepRule& rule, std::int64_t applied, std::span<const StepGradient> gradients) {
  Plan plan;
  for (const StepGradient& gradient : gradients) {
    plan.push_back({.step = rule.with_gradient(gradient, ++applied), .gradient = gradient.values});
  }
  return plan;
}

Plan plan_momentum(const StepRule& rule, std::int64_t applied, std::span<const StepGradient> in_flight) {
  Plan plan;
  for (const StepGradient& gradient : in_flight) {
    plan.push_back({.step = rule.with_momentum_alone(gradient.step, ++applied), .gradient = {}});
  }
  return plan;
}

float* data_or_null(std::vector<float>& values) { return values.empty() ? nullptr : values.data(); }

Block slice(const Block& whole, std::size_t first, std::size_t count) {
  const auto shifted = [first](float* values) { return values == nullptr ? nullptr : values + first; };
  return {.count = count,
          .weights = shifted(whole.weights),
          .first_moment = shifted(whole.first_moment),
          .second_moment = shifted(whole.second_moment)};
}

/// Calls `visit(first, block)` for each block of the vectors.
template <class Visit>
void for_each_block(const Block& whole, Visit visit) {
  for (std::size_t first = 0; first < whole.count; first += block_length) {
    visit(first, slice(whole, first, std::min(block_length, whole.count - first)));
  }
}

void take_steps(const Plan& plan, std::size_t first, const Block& block) {
  for (const PlannedStep& planned : plan) apply(planned.step, planned.block(first, block.count).data(), block);
}

/// Takes the steps on a copy of `block`, whose weights go to `predicted`, and marks the gradients that are not finite.
void predict(Plan& plan, std::size_t first, const Block& block, float* predicted) {
  alignas(64) std::array<float, block_length> first_moment;
  alignas(64) std::array<float, block_length> second_moment;
  Block copy{.count = block.count, .weights = predicted};
  std::copy_n(block.weights, block.count, copy.weights);
  if (block.first_moment != nullptr) {
    copy.first_moment = std::copy_n(block.first_moment, block.count, first_moment.data()) - block.count;
  }
  if (block.second_moment != nullptr) {
    copy.second_moment = std::copy_n(block.second_moment, block.count, second_moment.data()) - block.count;
  }
  for (PlannedStep& planned : plan) {
    planned.finite = planned.finite && all_finite(planned.block(first, block.count));
  }
  take_steps(plan, first, copy);
}

}  // namespace
}
