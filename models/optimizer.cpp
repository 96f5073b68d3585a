#include "models/optimizer.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <stdexcept>
#include <string>

namespace tandem::models {
namespace {

using Plan = std::vector<PlannedStep>;

/// The steps that follow `applied` updates.
Plan plan_steps(const StepRule& rule, std::int64_t applied, std::span<const StepGradient> gradients) {
  Plan plan;
  for (const StepGradient& gradient : gradients) plan.push_back(rule.with_gradient(gradient, ++applied));
  return plan;
}

Plan plan_momentum(const StepRule& rule, std::int64_t applied, std::span<const StepGradient> in_flight) {
  Plan plan;
  for (const StepGradient& gradient : in_flight) {
    plan.push_back(rule.with_momentum_alone(gradient, ++applied));
  }
  return plan;
}

std::vector<StepGradient> finite_ones(std::span<const StepGradient> gradients, const Plan& plan) {
  std::vector<StepGradient> finite;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (plan[i].finite()) finite.push_back(gradients[i]);
  }
  return finite;
}

/// What save() writes, followed by the moments.
struct SavedHeader {
  std::array<char, 8> magic = {'t', 'd', 'm', '-', 'o', 'p', 't', '1'};
  config::OptimizerKind kind = config::OptimizerKind::sgd;
  std::int32_t moments = 0;
  std::uint64_t parameters = 0;
  std::int64_t updates_applied = 0;

  bool operator==(const SavedHeader&) const = default;
};

SavedHeader make_header(const StepRule& rule, std::size_t parameters, std::int64_t updates_applied) {
  return {.kind = rule.kind(),
          .moments = moments(rule.method()),
          .parameters = parameters,
          .updates_applied = updates_applied};
}

}  // namespace

FlatOptimizer::FlatOptimizer(const config::Optimizer& settings, const LearningRate& rate, std::size_t parameters)
    : rule_(settings, rate),
      parameters_(parameters),
      first_moment_(moments(rule_.method()) >= 1 ? parameters : 0),
      second_moment_(moments(rule_.method()) >= 2 ? parameters : 0) {}

void FlatOptimizer::advance(std::span<float> weights, std::span<float> predicted, std::span<const StepGradient> updates,
                            Prediction prediction, std::span<const StepGradient> in_flight) {
  [[maybe_unused]] const auto fits = [this](const StepGradient& gradient) {
    return gradient.values.size() == parameters_;
  };
  assert(weights.size() == parameters_ && std::ranges::all_of(updates, fits));
  const Plan real = plan_steps(rule_, updates_applied_, updates);
  updates_applied_ += static_cast<std::int64_t>(updates.size());
  Sweep sweep{.count = parameters_,
              .weights = weights.data(),
              .first_moment = first_moment_.data(),
              .second_moment = second_moment_.data(),
              .updates = real,
              .prediction = {}};
  if (prediction == Prediction::none) return run(rule_.method(), sweep);

  assert(predicted.size() == parameters_);
  assert(prediction == Prediction::momentum || std::ranges::all_of(in_flight, fits));
  Plan trial = prediction == Prediction::local ? plan_steps(rule_, updates_applied_, in_flight)
                                               : plan_momentum(rule_, updates_applied_, in_flight);
  sweep.prediction = trial;
  sweep.predicted = predicted.data();
  run(rule_.method(), sweep);

  const std::vector<StepGradient> finite = finite_ones(in_flight, trial);
  if (finite.size() == in_flight.size()) return;
  trial = plan_steps(rule_, updates_applied_, finite);
  sweep.updates = {};
  sweep.prediction = trial;
  run(rule_.method(), sweep);
}

std::vector<std::byte> FlatOptimizer::save() const {
  const SavedHeader header = make_header(rule_, parameters_, updates_applied_);
  const auto first = std::as_bytes(std::span(first_moment_));
  const auto second = std::as_bytes(std::span(second_moment_));
  std::vector<std::byte> bytes(sizeof(header) + first.size() + second.size());
  std::memcpy(bytes.data(), &header, sizeof(header));
  std::ranges::copy(second, std::ranges::copy(first, bytes.begin() + sizeof(header)).out);
  return bytes;
}

void FlatOptimizer::load(std::span<const std::byte> saved) {
  const auto first = std::as_writable_bytes(std::span(first_moment_));
  const auto second = std::as_writable_bytes(std::span(second_moment_));
  SavedHeader header;
  const bool right_size = saved.size() == sizeof(header) + first.size() + second.size();
  if (right_size) std::memcpy(&header, saved.data(), sizeof(header));
  if (!right_size || header.updates_applied < 0 || header != make_header(rule_, parameters_, header.updates_applied)) {
    throw std::runtime_error("the saved optimizer state is not of " + std::string(name(rule_.kind())) + " with " +
                             std::to_string(moments(rule_.method())) + " moments of " + std::to_string(parameters_) +
                             " parameters");
  }
  saved = saved.subspan(sizeof(header));
  std::ranges::copy(saved.first(first.size()), first.begin());
  std::ranges::copy(saved.subspan(first.size()), second.begin());
  updates_applied_ = header.updates_applied;
}

}  // namespace tandem::models
