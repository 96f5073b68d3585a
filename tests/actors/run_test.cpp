#include <algorithm>
#include <catch2/catch.hpp>
#include <future>

#include "support/experiments.h"

namespace {

using namespace tandem;
using config::Correction;
using scheduler::Phase;

}  // namespace

TEST_CASE("a run reports progress, evaluations and figures that fit together") {
  auto e = test::experiment();
  config::Job job = test::quadratic_job(4, 35, 2, Correction::local);
  job.training.epochs = 4;
  job.training.steps.reset();
  job.run.evaluate_epochs = true;
  job.run.report_seconds = 1e-9;
  test::KeepingObserver observer;
  actors::LocalRun run(job, test::make_quadratic_replicas(job, e), observer);
  const actors::RunSummary summary = run.wait();
  CHECK(summary.steps == 40);
  CHECK(summary.parameters == 5);
  CHECK(summary.skipped_updates == 0);
  std::int64_t samples = 0;
  for (std::int64_t step = 0; step < 40; ++step) {
    for (int rank = 0; rank < 4; ++rank) samples += e->problem.samples(step, rank);
  }
  CHECK(summary.samples == samples);
  CHECK(summary.loss == Approx(0.5));
  CHECK(summary.training_seconds > 0);
  CHECK(summary.wall_seconds >= summary.training_seconds);

  REQUIRE(observer.tests.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(observer.tests[i].epoch == static_cast<std::int64_t>(i) + 1);
    CHECK(observer.tests[i].steps_done == 10 * (static_cast<std::int64_t>(i) + 1));
    CHECK(observer.tests[i].accuracy == Approx(0.8));
    CHECK(observer.tests[i].loss == Approx(0.5));
  }
  REQUIRE(!observer.progress.empty());
  CHECK(observer.progress.back().steps_done == 40);
  CHECK(observer.progress.back().total_steps == 40);
  CHECK(observer.progress.back().learning_rate == Approx(0.05));

  CHECK(summary.phase(Phase::forward).count() == summary.step.count());
  CHECK(summary.phase(Phase::exchange).count() == 160);
  CHECK(summary.step.count() == 156);
}

TEST_CASE("a run's tracks show each worker's and each reducer's spans, step by step") {
  const auto e = test::experiment();
  const actors::RunSummary summary = test::run_quadratic(test::quadratic_job(3, 20, 2, Correction::local), e);
  REQUIRE(summary.tracks.size() == 6);
  for (int rank = 0; rank < 3; ++rank) {
    const scheduler::Track& worker = summary.tracks[static_cast<std::size_t>(2 * rank)];
    const scheduler::Track& reducer = summary.tracks[static_cast<std::size_t>(2 * rank + 1)];
    CHECK(worker.actor == "worker");
    CHECK(reducer.actor == "reducer");
    CHECK(worker.rank == rank);
    CHECK(reducer.rank == rank);
    REQUIRE(reducer.spans.size() == 20);
    for (std::int64_t step = 0; step < 20; ++step) {
      CHECK(reducer.spans[static_cast<std::size_t>(step)].step == step);
      CHECK(reducer.spans[static_cast<std::size_t>(step)].phase == Phase::exchange);
    }
    for (std::size_t i = 1; i < worker.spans.size(); ++i) CHECK(worker.spans[i].begin >= worker.spans[i - 1].end);
  }
}

TEST_CASE("at width 2 the next step is computed before the exchange of a step has ended") {
  // Rank 1 holds its first gradient back until rank 0 computes the next step: at width 1 that would never be.
  auto e = test::experiment();
  std::promise<void> computing;
  e->before_gradient = [&, ahead = computing.get_future().share()](int rank, std::int64_t step, std::span<float>) {
    if (rank == 1 && step == 0) ahead.wait();
    if (rank == 0 && step == 1) computing.set_value();
  };
  const actors::RunSummary summary = test::run_quadratic(test::quadratic_job(2, 5, 2, Correction::local), e);
  const auto find = [](const scheduler::Track& track, Phase phase, std::int64_t step) {
    return *std::find_if(track.spans.begin(), track.spans.end(),
                         [&](const scheduler::Span& span) { return span.phase == phase && span.step == step; });
  };
  const scheduler::Span exchange = find(summary.tracks[1], Phase::exchange, 0);
  const scheduler::Span compute = find(summary.tracks[0], Phase::forward, 1);
  CHECK(compute.begin < exchange.end);
}

TEST_CASE("spans beyond the limit are dropped, the newest kept, and their number known") {
  const auto e = test::experiment();
  const config::Job job = test::quadratic_job(1, 100, 1, Correction::none);
  test::KeepingObserver observer;
  actors::RunOptions options;
  options.spans_kept = 10;
  actors::LocalRun run(job, test::make_quadratic_replicas(job, e), observer, options);
  const actors::RunSummary summary = run.wait();
  REQUIRE(summary.tracks.size() == 2);
  CHECK(summary.tracks[1].spans.size() == 10);
  CHECK(summary.tracks[1].lost == 90);
  CHECK(summary.tracks[1].spans.back().step == 99);
}

TEST_CASE("a run of as many workers as there may be ends, with all its threads") {
  for (int repeat = 0; repeat < 10; ++repeat) {
    const auto e = test::experiment();
    CHECK(test::run_quadratic(test::quadratic_job(64, 5, 2, Correction::local), e).steps == 5);
    CHECK(e.use_count() == 1);
  }
}

TEST_CASE("N2: a run with uncorrected momentum at width 2 warns before it starts") {
  const auto e = test::experiment();
  const config::Job job = test::quadratic_job(1, 3, 2, Correction::none);
  test::KeepingObserver observer;
  actors::LocalRun run(job, test::make_quadratic_replicas(job, e), observer);
  REQUIRE(observer.warnings.size() == 1);
  CHECK_THAT(observer.warnings[0], Catch::Contains("may diverge"));
  run.wait();
}
