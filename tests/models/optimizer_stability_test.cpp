#include <catch2/catch.hpp>
#include <cmath>
#include <deque>
#include <string>

#include "models/optimizer_fixture.h"

namespace tandem::models {
namespace {

struct Scheme {
  std::string name;
  int width;
  double momentum;
  Prediction prediction;
  /// Gradient descent on curvature * w^2 / 2 is stable up to this lr * curvature.
  double limit;
};

std::vector<Scheme> schemes() {
  return {
      {"synchronous", 1, 0, Prediction::none, 2},
      {"width 2", 2, 0, Prediction::none, 1},
      {"width 3", 3, 0, Prediction::none, 0.618},
      {"synchronous, momentum", 1, 0.9, Prediction::none, 3.8},
      {"width 2, momentum", 2, 0.9, Prediction::none, 0.1},
      {"width 2, momentum, predicted by momentum", 2, 0.9, Prediction::momentum, 0.2531},
      {"width 2, momentum, predicted locally", 2, 0.9, Prediction::local, 3.8},
      {"width 3, momentum, predicted locally", 3, 0.9, Prediction::local, 3.8},
  };
}

/// |w| after `steps` steps of one worker from w = 1, or as soon as it is above 1000. An update comes when `width` - 1
/// later steps have been computed.
double distance(const Scheme& scheme, double lr_curvature, int steps) {
  const float curvature = 2;
  config::Optimizer settings;
  settings.lr = lr_curvature / curvature;
  settings.momentum = scheme.momentum;
  FlatOptimizer optimizer(settings, constant_rate(settings), 1);
  Vector weights = {1.0f};
  Vector predicted = weights;
  std::deque<Vector> gradients;  // in flight, the last of step - 1
  for (int step = 0; step < steps && std::abs(weights[0]) <= 1000; ++step) {
    std::vector<StepGradient> in_flight;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      in_flight.push_back({step - static_cast<std::int64_t>(gradients.size() - i), gradients[i]});
    }
    const std::size_t arrived = gradients.size() == static_cast<std::size_t>(scheme.width) ? 1 : 0;
    optimizer.advance(weights, predicted, std::span(in_flight).first(arrived), scheme.prediction,
                      std::span(in_flight).subspan(arrived));
    if (arrived == 1) gradients.pop_front();
    const Vector& used = scheme.prediction == Prediction::none ? weights : predicted;
    gradients.push_back({curvature * used[0]});
  }
  return std::abs(weights[0]);
}

TEST_CASE("On a quadratic each scheme converges just below its limit of lr * curvature and diverges just above") {
  const Scheme scheme = GENERATE(from_range(schemes()));
  CAPTURE(scheme.name);
  CHECK(distance(scheme, 0.97 * scheme.limit, 5000) < 1e-3);
  CHECK(distance(scheme, 1.03 * scheme.limit, 5000) > 1000);
}

}  // namespace
}  // namespace tandem::models
