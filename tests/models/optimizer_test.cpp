#include "models/optimizer.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "models/optimizer_fixture.h"

namespace tandem::models {
namespace {

/// PyTorch's optimizers as its documentation gives them, element by element in double precision.
class Reference {
 public:
  Reference(const config::Optimizer& settings, const Vector& weights)
      : settings_(settings),
        weights_(weights.begin(), weights.end()),
        momentum_(weights.size()),
        square_(weights.size()) {}

  void step(double lr, const Vector& gradient) {
    ++steps_;
    const double scale = clip_factor(gradient);
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      if (settings_.kind == config::OptimizerKind::sgd) {
        sgd(lr, i, scale * gradient[i]);
      } else {
        adam(lr, i, scale * gradient[i]);
      }
    }
  }

  const std::vector<double>& weights() const { return weights_; }

 private:
  double clip_factor(const Vector& gradient) const {
    if (!settings_.clip_norm) return 1;
    const double norm = std::sqrt(std::inner_product(gradient.begin(), gradient.end(), gradient.begin(), 0.0));
    return std::min(1.0, *settings_.clip_norm / (norm + 1e-6));
  }

  void sgd(double lr, std::size_t i, double gradient) {
    gradient += settings_.weight_decay * weights_[i];
    // The first step's buffer is the gradient itself.
    momentum_[i] = steps_ == 1 ? gradient : settings_.momentum * momentum_[i] + gradient;
    weights_[i] -= lr * (settings_.nesterov ? gradient + settings_.momentum * momentum_[i] : momentum_[i]);
  }

  void adam(double lr, std::size_t i, double gradient) {
    if (settings_.kind == config::OptimizerKind::adamw) {
      weights_[i] -= lr * settings_.weight_decay * weights_[i];
    } else {
      gradient += settings_.weight_decay * weights_[i];
    }
    momentum_[i] = settings_.beta1 * momentum_[i] + (1 - settings_.beta1) * gradient;
    square_[i] = settings_.beta2 * square_[i] + (1 - settings_.beta2) * gradient * gradient;
    const double mean = momentum_[i] / (1 - std::pow(settings_.beta1, steps_));
    const double deviation = std::sqrt(square_[i] / (1 - std::pow(settings_.beta2, steps_)));
    weights_[i] -= lr * mean / (deviation + settings_.epsilon);
  }

  config::Optimizer settings_;
  std::vector<double> weights_;
  std::vector<double> momentum_;
  std::vector<double> square_;
  int steps_ = 0;
};

void check_close(const Vector& weights, const std::vector<double>& expected) {
  REQUIRE(weights.size() == expected.size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    REQUIRE(static_cast<double>(weights[i]) == Approx(expected[i]).epsilon(1e-5).margin(1e-5));
  }
}

TEST_CASE("Steps are those of PyTorch's optimizers, also after saving and loading") {
  const NamedSettings named = GENERATE(from_range(all_settings()));
  const std::size_t length = GENERATE(from_range(lengths));
  CAPTURE(named.name, length);
  const LearningRate rate = warming_up(named.settings);
  Vector weights = random_vector(length, 1);
  Reference reference(named.settings, weights);
  FlatOptimizer optimizer(named.settings, rate, length);

  const std::vector<Vector> gradients = random_vectors(20, length, 2);
  const std::vector<StepGradient> updates = as_steps(gradients, 0);
  for (std::size_t i = 0; i < updates.size(); ++i) {
    if (i == 10) {
      FlatOptimizer restored(named.settings, rate, length);
      restored.load(optimizer.save());
      optimizer = std::move(restored);
    }
    apply_updates(optimizer, weights, std::span(updates).subspan(i, 1));
    reference.step(rate.at(updates[i].step), gradients[i]);
    check_close(weights, reference.weights());
  }
  CHECK(optimizer.updates_applied() == 20);
}

TEST_CASE("Several updates at once are the same, bit for bit, as one after the other") {
  const NamedSettings named = GENERATE(from_range(all_settings()));
  const std::size_t length = GENERATE(from_range(lengths));
  CAPTURE(named.name, length);
  const std::vector<Vector> gradients = random_vectors(5, length, 2);
  const std::vector<StepGradient> updates = as_steps(gradients, 3);
  Vector one_by_one = random_vector(length, 1);
  Vector at_once = one_by_one;
  FlatOptimizer first(named.settings, warming_up(named.settings), length);
  FlatOptimizer second(named.settings, warming_up(named.settings), length);

  for (const StepGradient& update : updates) apply_updates(first, one_by_one, {&update, 1});
  apply_updates(second, at_once, updates);
  CHECK(bits(one_by_one) == bits(at_once));
  CHECK(first.save() == second.save());
}

TEST_CASE("An update does not depend on where in the vector an element lies") {
  const NamedSettings named = GENERATE(from_range(all_settings()));
  CAPTURE(named.name);
  constexpr std::size_t length = 29;
  Vector weights(length, 0.3f);
  FlatOptimizer optimizer(named.settings, constant_rate(named.settings), length);
  const std::vector<Vector> gradients = {Vector(length, 0.1f), Vector(length, -0.7f), Vector(length, 0.9f)};
  apply_updates(optimizer, weights, as_steps(gradients, 0));
  CHECK(bits(weights) == bits(Vector(length, weights.front())));
}

TEST_CASE("Adam counts the updates applied, not the steps, in its bias correction") {
  config::Optimizer settings;
  settings.kind = config::OptimizerKind::adam;
  const Vector gradient = {2.0f};
  Vector weights = {0.0f};
  FlatOptimizer optimizer(settings, constant_rate(settings), 1);
  const StepGradient update{.step = 7, .values = gradient};
  apply_updates(optimizer, weights, {&update, 1});
  // The first step of Adam has the length of the learning rate.
  CHECK(weights[0] == Approx(-settings.lr));
  CHECK(optimizer.updates_applied() == 1);
}

TEST_CASE("Clipping brings a gradient's norm down to clip_norm and leaves smaller ones as they are") {
  config::Optimizer settings;
  settings.momentum = 0;
  settings.lr = 1;
  settings.clip_norm = 5;
  FlatOptimizer optimizer(settings, constant_rate(settings), 2);
  const auto step = [&](const Vector& gradient) {
    Vector weights = {0.0f, 0.0f};
    const StepGradient update{.step = 0, .values = gradient};
    apply_updates(optimizer, weights, {&update, 1});
    return weights;
  };
  CHECK(bits(step({3.0f, 3.9f})) == bits(Vector{-3.0f, -3.9f}));
  const Vector clipped = step({-30.0f, 40.0f});
  CHECK(clipped[0] == Approx(3));
  CHECK(clipped[1] == Approx(-4));
  // The square of these overflows in float32.
  const Vector huge = step({-3e30f, 4e30f});
  CHECK(huge[0] == Approx(3));
  CHECK(huge[1] == Approx(-4));
}

TEST_CASE("Loading what another optimizer saved, or a part of it, throws and changes nothing") {
  const auto all = all_settings();
  const NamedSettings named = GENERATE_REF(from_range(all));
  CAPTURE(named.name);
  constexpr std::size_t length = 10;
  const auto make = [](const config::Optimizer& settings, std::size_t parameters) {
    return FlatOptimizer(settings, constant_rate(settings), parameters);
  };
  FlatOptimizer optimizer = make(named.settings, length);
  Vector weights = random_vector(length, 1);
  const std::vector<Vector> gradients = random_vectors(3, length, 2);
  apply_updates(optimizer, weights, as_steps(gradients, 0));
  const std::vector<std::byte> saved = optimizer.save();

  const auto refuses = [&](std::span<const std::byte> bytes) {
    CHECK_THROWS_AS(optimizer.load(bytes), std::runtime_error);
    CHECK(optimizer.save() == saved);
  };
  refuses({});
  refuses(std::span(saved).first(saved.size() - 1));
  refuses(std::span(saved).first(20));
  std::vector<std::byte> longer = saved;
  longer.push_back(std::byte{0});
  refuses(longer);
  std::vector<std::byte> other_magic = saved;
  other_magic[0] ^= std::byte{1};
  refuses(other_magic);
  refuses(make(named.settings, length + 1).save());

  for (const NamedSettings& other : all) {
    const bool same_state =
        other.settings.kind == named.settings.kind && (other.settings.momentum == 0) == (named.settings.momentum == 0);
    if (!same_state) refuses(make(other.settings, length).save());
  }
}

TEST_CASE("The error for a wrong state says which state was expected") {
  config::Optimizer settings;
  settings.kind = config::OptimizerKind::adamw;
  FlatOptimizer optimizer(settings, constant_rate(settings), 3);
  CHECK_THROWS_WITH(optimizer.load({}), Catch::Contains("adamw") && Catch::Contains("3 parameters"));
}

}  // namespace
}  // namespace tandem::models
