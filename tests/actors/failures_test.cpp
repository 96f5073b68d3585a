#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <future>
#include <limits>

#include "support/experiments.h"
#include "support/plain_training.h"

namespace {

using namespace tandem;
using Catch::Contains;
using config::Correction;

config::Job job_of(int workers, std::int64_t steps, int width = 2) {
  return test::quadratic_job(workers, steps, width, width == 1 ? Correction::none : Correction::local);
}

}  // namespace

TEST_CASE("F4: an exception in a worker ends the run and names rank, step and message") {
  const auto width = GENERATE(1, 2, 4);
  const auto workers = GENERATE(1, 4);
  const int culprit = workers - 1;
  CAPTURE(width, workers);
  const auto e = test::experiment();
  e->before_gradient = [culprit](int rank, std::int64_t step, std::span<float>) {
    if (rank == culprit && step == 6) throw std::runtime_error("bad shard");
  };
  const std::string error = test::error_of(job_of(workers, 1000, width), e);
  CHECK(test::first_line(error) == "worker " + std::to_string(culprit) + " at step 6: bad shard");
  if (workers > 1) CHECK_THAT(error, Contains("\n  in consequence, worker 0"));
}

TEST_CASE("an exception of unknown type ends the run") {
  const auto e = test::experiment();
  e->before_gradient = [](int rank, std::int64_t, std::span<float>) {
    if (rank == 1) throw 7;
  };
  CHECK(test::first_line(test::error_of(job_of(2, 10), e)) == "worker 1 at step 0: an exception of unknown type");
}

TEST_CASE("an exception while a replica is built ends the run") {
  const auto e = test::experiment();
  e->on_build = [](int rank) {
    if (rank == 2) throw std::runtime_error("no memory left");
  };
  CHECK(test::first_line(test::error_of(job_of(4, 10), e)) == "worker 2: no memory left");
}

TEST_CASE("an exception in an evaluation ends the run") {
  const auto e = test::experiment();
  e->on_evaluate = [](int rank) {
    if (rank == 0) throw std::runtime_error("no test set");
  };
  CHECK_THAT(test::first_line(test::error_of(job_of(2, 10), e)), Contains("worker 0") && Contains("no test set"));
}

TEST_CASE("an exception in the observer ends the run") {
  const auto e = test::experiment();
  const config::Job job = job_of(2, 20);
  struct Broken : test::KeepingObserver {
    void on_test(const actors::TestResult&) override { throw std::runtime_error("no space left on device"); }
  } observer;
  actors::LocalRun run(job, test::make_quadratic_replicas(job, e), observer, test::patient());
  CHECK_THROWS_WITH(run.wait(), Contains("driver: no space left on device"));
}

TEST_CASE("an exception of unknown type in the observer ends the run") {
  const auto e = test::experiment();
  const config::Job job = job_of(2, 20);
  struct Broken : test::KeepingObserver {
    void on_test(const actors::TestResult&) override { throw 7; }
  } observer;
  actors::LocalRun run(job, test::make_quadratic_replicas(job, e), observer, test::patient());
  CHECK_THROWS_WITH(run.wait(), Contains("driver: an exception of unknown type"));
}

TEST_CASE("an observer that fails is not called again") {
  const auto e = test::experiment();
  config::Job job = job_of(4, 1'000'000'000);
  job.run.report_seconds = 0.001;
  struct Broken : test::KeepingObserver {
    void on_progress(const actors::Progress&) override {
      ++calls;
      throw std::runtime_error("no space left on device");
    }
    int calls = 0;
  } observer;
  actors::LocalRun run(job, test::make_quadratic_replicas(job, e), observer, test::patient());
  CHECK_THROWS_WITH(run.wait(), Contains("no space left on device"));
  CHECK(observer.calls == 1);
}

TEST_CASE("F2: a rank with another model is found before step 0") {
  const auto e = test::experiment();
  e->parameters = [](int rank) { return std::vector<models::Parameter>{{"fc.weight", {rank == 3 ? 11 : 10, 784}}}; };
  bool computed = false;
  e->before_gradient = [&](auto&&...) { computed = true; };
  const std::string error = test::first_line(test::error_of(job_of(4, 10), e));
  CHECK_THAT(error, Contains("fc.weight [10, 784]") && Contains("fc.weight [11, 784]") && Contains("rank 3"));
  CHECK_FALSE(computed);
}

TEST_CASE("a rank that does not come ends the run at the deadline, and is named") {
  const auto e = test::experiment();
  std::promise<void> release;
  e->before_gradient = [released = release.get_future().share()](int rank, std::int64_t step, std::span<float>) {
    if (rank == 1 && step == 5) released.wait();
  };
  config::Job job = job_of(3, 1000);
  job.run.exchange_timeout_seconds = 2;
  test::KeepingObserver observer;
  actors::RunOptions options;
  options.grace = std::chrono::milliseconds(200);
  actors::LocalRun run(job, test::make_quadratic_replicas(job, e), observer, options);
  try {
    run.wait();
    FAIL("the run did not fail");
  } catch (const actors::RunError& error) {
    CHECK(error.stuck);
    CHECK_THAT(test::first_line(error.what()),
               Contains("reducer") && Contains("step 5") && Contains("rank 1 did not come in time"));
    CHECK_THAT(error.what(), Contains("worker 1 has not ended"));
  }
  release.set_value();
}

TEST_CASE("N1: a mean that is not finite is skipped on every rank") {
  const auto width = GENERATE(1, 2, 3);
  const auto value = GENERATE(std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity());
  CAPTURE(width, value);
  const auto e = test::experiment();
  e->before_gradient = [value](int rank, std::int64_t step, std::span<float> gradient) {
    if (rank == 1 && step == 7) gradient[2] = value;
  };
  const actors::RunSummary summary = test::run_quadratic(job_of(4, 30, width), e);
  CHECK(summary.skipped_updates == 1);
  CHECK(summary.steps == 30);
  for (int rank = 0; rank < 4; ++rank) {
    CHECK(e->weights_of(rank) == e->weights_of(0));
    for (const float w : e->last_weights(rank)) CHECK(std::isfinite(w));
  }
}

TEST_CASE("N1: five skipped updates in a row end the run and name rank and step") {
  const auto e = test::experiment();
  e->before_gradient = [](int rank, std::int64_t step, std::span<float> gradient) {
    if (rank == 1 && step >= 7) gradient[0] = std::numeric_limits<float>::quiet_NaN();
  };
  const std::string error = test::first_line(test::error_of(job_of(3, 100), e));
  CHECK_THAT(error, Contains("worker 1") && Contains("5 steps in a row, 7 to 11") &&
                        Contains("the gradient of rank 1 is NaN or infinite"));
}

TEST_CASE("four skipped updates in a row do not end the run") {
  const auto e = test::experiment();
  e->before_gradient = [](int rank, std::int64_t step, std::span<float> gradient) {
    if (rank == 1 && step % 5 != 0) gradient[0] = std::numeric_limits<float>::quiet_NaN();
  };
  CHECK(test::run_quadratic(job_of(2, 50, 1), e).skipped_updates == 40);
}

TEST_CASE("an interrupted run ends in order: same step and weights everywhere, nothing evaluated") {
  const auto e = test::experiment();
  bool evaluated = false;
  e->on_evaluate = [&](int) { evaluated = true; };
  config::Job job = job_of(4, 1'000'000'000);
  job.run.report_seconds = 0.01;
  test::KeepingObserver observer;
  std::promise<void> running;
  observer.on_step_report = [&, told = false](const actors::Progress&) mutable {
    if (!std::exchange(told, true)) running.set_value();
  };
  actors::LocalRun run(job, test::make_quadratic_replicas(job, e), observer, test::patient());
  running.get_future().wait();
  run.interrupt();
  const actors::RunSummary summary = run.wait();
  CHECK(summary.interrupted);
  CHECK(summary.steps > 0);
  CHECK(summary.steps < job.training.steps);
  CHECK_FALSE(evaluated);
  CHECK(e->weights_of(0).size() >= static_cast<std::size_t>(summary.steps - 1));
  for (int rank = 1; rank < 4; ++rank) CHECK(e->weights_of(rank) == e->weights_of(0));
}

TEST_CASE("a run that is interrupted before it starts ends without a step") {
  const auto e = test::experiment();
  std::promise<void> release;
  const auto released = release.get_future().share();
  e->on_build = [&](int) { released.wait(); };
  test::KeepingObserver observer;
  const config::Job job = job_of(2, 1000);
  actors::LocalRun run(job, test::make_quadratic_replicas(job, e), observer, test::patient());
  run.interrupt();
  release.set_value();
  const actors::RunSummary summary = run.wait();
  CHECK(summary.interrupted);
  CHECK(summary.steps == 0);
}

TEST_CASE("a run that is cut short ends at once") {
  const auto e = test::experiment();
  config::Job job = job_of(4, 1'000'000'000);
  test::KeepingObserver observer;
  actors::LocalRun run(job, test::make_quadratic_replicas(job, e), observer, test::patient());
  run.cut_short("enough");
  CHECK_THROWS_WITH(run.wait(), Contains("enough"));
}

TEST_CASE("a run that is given up leaves nothing behind") {
  const auto e = test::experiment();
  const config::Job job = job_of(4, 1'000'000'000);
  test::KeepingObserver observer;
  { actors::LocalRun run(job, test::make_quadratic_replicas(job, e), observer, test::patient()); }
  CHECK(e.use_count() == 1);
}
