#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "models/optimizer.h"
#include "models/optimizer_fixture.h"

namespace tandem::models {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

/// An optimizer with its weights, some updates on its way.
struct Trained {
  explicit Trained(const config::Optimizer& settings, std::size_t length)
      : weights(random_vector(length, 1)), optimizer(settings, warming_up(settings), length) {
    apply_updates(optimizer, weights, as_steps(random_vectors(3, length, 100), 0));
  }

  void apply(std::span<const StepGradient> updates) { apply_updates(optimizer, weights, updates); }

  Vector predict(std::span<const StepGradient> updates, Prediction prediction,
                 std::span<const StepGradient> in_flight) {
    Vector predicted(weights.size(), not_a_number);
    optimizer.advance(weights, predicted, updates, prediction, in_flight);
    return predicted;
  }

  Vector weights;
  FlatOptimizer optimizer;
};

TEST_CASE("A local prediction has the bits of really applying the gradients in flight, and changes nothing else") {
  const NamedSettings named = GENERATE(from_range(all_settings()));
  const std::size_t length = GENERATE(from_range(lengths));
  const std::size_t updates_count = GENERATE(0, 1, 2);
  const std::size_t in_flight_count = GENERATE(0, 1, 2, 7);
  CAPTURE(named.name, length, updates_count, in_flight_count);
  const std::vector<Vector> means = random_vectors(updates_count, length, 200);
  const std::vector<Vector> own = random_vectors(in_flight_count, length, 300);
  const std::vector<StepGradient> updates = as_steps(means, 3);
  const std::vector<StepGradient> in_flight = as_steps(own, 3 + static_cast<std::int64_t>(updates_count));

  Trained expected(named.settings, length);
  expected.apply(updates);
  Trained actual(named.settings, length);
  const Vector predicted = actual.predict(updates, Prediction::local, in_flight);
  CHECK(bits(actual.weights) == bits(expected.weights));
  CHECK(actual.optimizer.save() == expected.optimizer.save());

  expected.apply(in_flight);
  CHECK(bits(predicted) == bits(expected.weights));
}

TEST_CASE("Prediction none leaves the predicted weights alone") {
  Trained trained(config::Optimizer{}, 9);
  const std::vector<Vector> own = random_vectors(1, 9, 300);
  const Vector predicted = trained.predict({}, Prediction::none, as_steps(own, 3));
  CHECK(bits(predicted) == bits(Vector(9, not_a_number)));
}

TEST_CASE("A gradient in flight that is not finite is left out, as if its step had been skipped") {
  const NamedSettings named = GENERATE(from_range(all_settings()));
  const float bad = GENERATE(values({not_a_number, -not_a_number, infinity, -infinity}));
  const std::size_t length = 21;
  const std::size_t place = GENERATE(0, 10, 20);
  const std::vector<bool> spoiled =
      GENERATE(values<std::vector<bool>>({{true}, {true, false}, {false, true}, {true, true}, {false, true, false}}));
  CAPTURE(named.name, bad, place, spoiled);
  const std::vector<Vector> means = random_vectors(1, length, 200);
  const std::vector<StepGradient> updates = as_steps(means, 3);
  std::vector<Vector> own = random_vectors(spoiled.size(), length, 300);
  const std::vector<StepGradient> in_flight = as_steps(own, 4);
  std::vector<StepGradient> finite;
  for (std::size_t i = 0; i < spoiled.size(); ++i) {
    if (spoiled[i]) own[i][place] = bad;
    if (!spoiled[i]) finite.push_back(in_flight[i]);
  }

  Trained expected(named.settings, length);
  expected.apply(updates);
  Trained actual(named.settings, length);
  const Vector predicted = actual.predict(updates, Prediction::local, in_flight);
  CHECK(bits(actual.weights) == bits(expected.weights));
  CHECK(actual.optimizer.save() == expected.optimizer.save());

  expected.apply(finite);
  CHECK(bits(predicted) == bits(expected.weights));
}

TEST_CASE("The largest finite value in flight is not taken for infinite") {
  config::Optimizer settings;
  settings.lr = 1e-3;
  const std::vector<Vector> own = {{0.0f, std::numeric_limits<float>::max()}};
  const std::vector<StepGradient> in_flight = as_steps(own, 3);
  Trained expected(settings, 2);
  expected.apply(in_flight);
  Trained actual(settings, 2);
  CHECK(bits(actual.predict({}, Prediction::local, in_flight)) == bits(expected.weights));
}

/// Steps 1, 2, ... in flight, without values, which the momentum prediction does not need.
std::vector<StepGradient> steps_in_flight(std::int64_t count) {
  std::vector<StepGradient> steps;
  for (std::int64_t step = 1; step <= count; ++step) steps.push_back({.step = step, .values = {}});
  return steps;
}

TEST_CASE("The momentum prediction goes on with SGD's velocity, once for each step in flight, without weight decay") {
  config::Optimizer settings;
  settings.lr = 0.05;
  settings.weight_decay = 0.1;
  settings.nesterov = GENERATE(false, true);
  const std::int64_t in_flight = GENERATE(0, 1, 2, 7);
  CAPTURE(settings.nesterov, in_flight);
  const LearningRate rate = warming_up(settings);
  const std::vector<Vector> gradient = random_vectors(1, 9, 2);
  Vector weights = random_vector(9, 1);
  Vector velocity = gradient[0];
  for (std::size_t i = 0; i < 9; ++i) velocity[i] += 0.1f * weights[i];
  FlatOptimizer optimizer(settings, rate, 9);
  Vector predicted(9);
  optimizer.advance(weights, predicted, as_steps(gradient, 0), Prediction::momentum, steps_in_flight(in_flight));

  for (std::size_t i = 0; i < 9; ++i) {
    double v = velocity[i];
    double expected = weights[i];
    for (std::int64_t step = 1; step <= in_flight; ++step) {
      v *= 0.9;
      expected -= rate.at(step) * v;
    }
    CHECK(static_cast<double>(predicted[i]) == Approx(expected).epsilon(1e-6).margin(1e-6));
  }
}

TEST_CASE("The momentum prediction goes on with Adam's mean gradient and holds its mean square") {
  config::Optimizer settings;
  settings.kind = GENERATE(config::OptimizerKind::adam, config::OptimizerKind::adamw);
  settings.lr = 0.05;
  settings.weight_decay = 0.1;
  const std::int64_t in_flight = GENERATE(0, 1, 2, 7);
  CAPTURE(settings.kind, in_flight);
  const LearningRate rate = warming_up(settings);
  const std::vector<Vector> gradient = random_vectors(1, 9, 2);
  Vector weights = random_vector(9, 1);
  Vector decayed = gradient[0];
  if (settings.kind == config::OptimizerKind::adam) {
    for (std::size_t i = 0; i < 9; ++i) decayed[i] += 0.1f * weights[i];
  }
  FlatOptimizer optimizer(settings, rate, 9);
  Vector predicted(9);
  optimizer.advance(weights, predicted, as_steps(gradient, 0), Prediction::momentum, steps_in_flight(in_flight));

  for (std::size_t i = 0; i < 9; ++i) {
    double mean = 0.1 * decayed[i];
    const double square = 0.001 * decayed[i] * decayed[i];
    double expected = weights[i];
    for (std::int64_t step = 1; step <= in_flight; ++step) {
      mean *= 0.9;
      const double deviation = std::sqrt(square / (1 - std::pow(0.999, step + 1)));
      expected -= rate.at(step) * mean / (1 - std::pow(0.9, step + 1)) / (deviation + 1e-8);
    }
    CHECK(static_cast<double>(predicted[i]) == Approx(expected).epsilon(1e-5).margin(1e-5));
  }
}

TEST_CASE("The momentum prediction of an optimizer without momentum is the true weights") {
  config::Optimizer settings;
  settings.momentum = 0;
  settings.weight_decay = 0.1;
  Trained trained(settings, 9);
  const Vector predicted = trained.predict({}, Prediction::momentum, steps_in_flight(3));
  CHECK(bits(predicted) == bits(trained.weights));
}

}  // namespace
}  // namespace tandem::models
