#include <catch2/catch.hpp>

#include "support/run_job.h"

namespace {

using namespace tandem;
using config::Correction;
using scheduler::Phase;

}  // namespace

TEST_CASE("a run reports progress, evaluations and figures that fit together") {
  auto e = std::make_shared<test::Experiment>(test::Quadratic{});
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

  CHECK(summary.phase(Phase::forward).count() == 160);
  CHECK(summary.phase(Phase::exchange).count() == 160);
  CHECK(summary.step.count() == 156);
}

TEST_CASE("a run's tracks show each worker's and each reducer's spans, step by step") {
  const auto e = std::make_shared<test::Experiment>(test::Quadratic{});
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

TEST_CASE("a stale exchange lies beside the compute of the next step") {
  // Every rank holds step 1's gradient back until the exchange of step 0 has been under way for a while: it is, since
  // rank 0 enters it late. With width 1 this would deadlock.
  auto e = std::make_shared<test::Experiment>(test::Quadratic{});
  const actors::RunSummary summary = test::run_quadratic(test::quadratic_job(2, 50, 2, Correction::local), e);
  const scheduler::Track& worker = summary.tracks[0];
  const scheduler::Track& reducer = summary.tracks[1];
  bool beside = false;
  for (const scheduler::Span& exchange : reducer.spans) {
    for (const scheduler::Span& span : worker.spans) {
      beside = beside || (span.phase == Phase::forward && span.step == exchange.step + 1 && span.begin < exchange.end);
    }
  }
  CHECK(beside);
}

TEST_CASE("spans beyond the limit are dropped, the newest kept, and their number known") {
  const auto e = std::make_shared<test::Experiment>(test::Quadratic{});
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

TEST_CASE("N2: a run with uncorrected momentum at width 2 warns before it starts") {
  const auto e = std::make_shared<test::Experiment>(test::Quadratic{});
  const config::Job job = test::quadratic_job(1, 3, 2, Correction::none);
  test::KeepingObserver observer;
  actors::LocalRun run(job, test::make_quadratic_replicas(job, e), observer);
  REQUIRE(observer.warnings.size() == 1);
  CHECK_THAT(observer.warnings[0], Catch::Contains("may diverge"));
  run.wait();
}
