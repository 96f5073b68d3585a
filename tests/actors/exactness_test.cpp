#include <catch2/catch.hpp>

#include "support/experiments.h"
#include "support/plain_training.h"

namespace {

using namespace tandem;
using config::Correction;
using config::OptimizerKind;

config::Optimizer optimizer(OptimizerKind kind, bool nesterov) {
  config::Optimizer settings;
  settings.kind = kind;
  settings.lr = 0.05;
  settings.momentum = kind == OptimizerKind::sgd ? 0.9 : 0;
  settings.nesterov = nesterov;
  settings.weight_decay = 0.01;
  return settings;
}

// Update by update; those in flight at the end are applied together, and so seen as one.
void require_equal_updates(const std::vector<std::vector<float>>& weights,
                           const std::vector<std::vector<float>>& expected) {
  REQUIRE(!weights.empty());
  REQUIRE(weights.size() <= expected.size());
  for (std::size_t update = 0; update + 1 < weights.size(); ++update)
    test::require_equal(weights[update], expected[update]);
  test::require_equal(weights.back(), expected.back());
}

}  // namespace

TEST_CASE("a run equals a plain loop that delays its gradients by width - 1 steps") {
  const auto width = GENERATE(1, 2, 3, 4);
  const auto workers = GENERATE(1, 2, 3, 4);
  const auto correction = GENERATE(Correction::none, Correction::momentum, Correction::local);
  const auto [kind, nesterov] = GENERATE(table<OptimizerKind, bool>({{OptimizerKind::sgd, false},
                                                                     {OptimizerKind::sgd, true},
                                                                     {OptimizerKind::adam, false},
                                                                     {OptimizerKind::adamw, false}}));
  CAPTURE(width, workers, name(correction), name(kind), nesterov);
  constexpr std::int64_t steps = 25;
  config::Job job = test::quadratic_job(workers, steps, width, correction);
  job.optimizer = optimizer(kind, nesterov);
  const test::Quadratic problem;
  const auto experiment = test::trained(job, problem);
  const auto expected = test::plain_training(job, problem, steps);
  for (int rank = 0; rank < workers; ++rank) require_equal_updates(experiment->weights_of(rank), expected);
}

TEST_CASE("a run whose width grows after warm-up equals a plain loop that does the same") {
  const auto warmup = GENERATE(1, 3, 10, 40);
  CAPTURE(warmup);
  constexpr std::int64_t steps = 30;
  config::Job job = test::quadratic_job(3, steps, 3, Correction::local);
  job.topology.warmup_steps = warmup;
  const test::Quadratic problem;
  require_equal_updates(test::trained(job, problem)->weights_of(0), test::plain_training(job, problem, steps));
}

TEST_CASE("with the same data on every rank, correction local equals synchronous training bit for bit") {
  const auto width = GENERATE(2, 3, 4);
  const auto workers = GENERATE(1, 2, 4);
  const auto clip = GENERATE(std::optional<double>(), std::optional<double>(0.5));
  CAPTURE(width, workers, clip.has_value());
  test::Quadratic problem;
  problem.same_data = true;
  problem.samples = [](std::int64_t, int) { return 2; };
  config::Job job = test::quadratic_job(workers, 40, 1, Correction::none);
  job.optimizer.clip_norm = clip;
  const auto synchronous = test::trained(job, problem)->last_weights(0);
  job.topology.width = width;
  job.topology.correction = Correction::local;
  CHECK(test::trained(job, problem)->last_weights(0) == synchronous);
}

TEST_CASE("all replicas hold the same bits after every update, and again when the run is repeated") {
  const auto width = GENERATE(1, 2, 5, 8);
  CAPTURE(width);
  config::Job job = test::quadratic_job(4, 60, width, width == 1 ? Correction::none : Correction::local);
  test::Quadratic problem;
  problem.size = 3000;
  const auto first = test::trained(job, problem);
  const auto second = test::trained(job, problem);
  for (int rank = 0; rank < 4; ++rank) {
    CHECK(first->weights_of(rank) == first->weights_of(0));
    CHECK(second->weights_of(rank) == first->weights_of(rank));
  }
}

TEST_CASE("p workers with batch b equal one worker with batch p*b") {
  // One worker sees the mean target of the four shares.
  constexpr std::int64_t steps = 30;
  test::Quadratic four;
  four.samples = [](std::int64_t, int) { return 2; };
  const config::Job job = test::quadratic_job(4, steps, 1, Correction::none);
  const auto distributed = test::trained(job, four)->last_weights(0);

  std::vector<double> w(four.size);
  std::vector<double> v(four.size);
  for (std::size_t i = 0; i < four.size; ++i) w[i] = four.first_weight(i);
  for (std::int64_t step = 0; step < steps; ++step) {
    for (std::size_t i = 0; i < four.size; ++i) {
      double gradient = 0;
      for (int rank = 0; rank < 4; ++rank) gradient += four.curvature(i) * (w[i] - four.target(step, rank, i)) / 4;
      v[i] = 0.9 * v[i] + gradient;
      w[i] -= 0.05 * v[i];
    }
  }
  for (std::size_t i = 0; i < four.size; ++i) CHECK(distributed[i] == Approx(w[i]).margin(1e-5));
}

TEST_CASE("a worker whose share is empty counts with weight 0") {
  // A2: rank 0 has data for 10 steps, rank 1 for 11.
  test::Quadratic problem;
  problem.samples = [](std::int64_t step, int rank) { return rank == 0 && step == 10 ? 0 : 10; };
  const auto width = GENERATE(1, 2);
  const config::Job job = test::quadratic_job(2, 11, width, width == 1 ? Correction::none : Correction::local);
  require_equal_updates(test::trained(job, problem)->weights_of(0), test::plain_training(job, problem, 11));
}

TEST_CASE("the stability limits of delayed gradients hold in a real run") {
  struct Limit {
    int width;
    double momentum;
    Correction correction;
    double limit;
  };
  const auto [width, momentum, correction, limit] = GENERATE(values<Limit>({
      {1, 0.0, Correction::none, 2.0},
      {2, 0.0, Correction::none, 1.0},
      {3, 0.0, Correction::none, 0.618},
      {1, 0.9, Correction::none, 3.8},
      {2, 0.9, Correction::none, 0.1},
      {2, 0.9, Correction::momentum, 0.2531},
      {2, 0.9, Correction::local, 3.8},
  }));
  CAPTURE(width, momentum, name(correction), limit);
  test::Quadratic problem;
  problem.size = 1;
  problem.same_data = true;
  // Whether the weights swing ever wider.
  const auto diverges = [&, w = width, mu = momentum, c = correction](double rate) {
    config::Job job = test::quadratic_job(2, 3000, w, c);
    job.optimizer.lr = rate;
    job.optimizer.momentum = mu;
    const auto e = test::experiment(problem);
    try {
      test::run_quadratic(job, e);
    } catch (const actors::RunError&) {
      return true;  // beyond the range of numbers
    }
    const auto weights = e->weights_of(0);
    const auto peak = [&](std::size_t first, std::size_t end) {
      float largest = 0;
      for (std::size_t i = first; i < end; ++i) largest = std::max(largest, std::abs(weights[i].front()));
      return largest;
    };
    return peak(2000, weights.size()) > 2 * peak(1000, 2000);
  };
  CHECK_FALSE(diverges(0.97 * limit));
  CHECK(diverges(1.04 * limit));
}
