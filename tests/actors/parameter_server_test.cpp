#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <future>
#include <limits>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>

#include "support/experiments.h"
#include "support/plain_training.h"

namespace {

using namespace tandem;
using Catch::Contains;
using config::Codec;
using config::Correction;
using config::OptimizerKind;
using config::TopologyKind;

config::Job server_job(TopologyKind kind, int workers, std::int64_t steps) {
  config::Job job = test::quadratic_job(workers, steps, 1, Correction::none);
  job.topology.kind = kind;
  job.training.batch = 4;
  return job;
}

// Lets workers compute in turn, each once the one before has its answer.
class Turns {
 public:
  explicit Turns(int workers) : workers_(workers) {}

  void await(int rank) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return next_ == rank; });
  }
  void pass(int rank) {
    const std::lock_guard lock(mutex_);
    // The last state comes to all at once.
    if (next_ == rank) next_ = (rank + 1) % workers_;
    changed_.notify_all();
  }

 private:
  const int workers_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int next_ = 0;
};

void run_in_turns(const config::Job& job, const std::shared_ptr<test::Experiment>& e) {
  Turns turns(job.training.workers);
  e->before_gradient = [&](int rank, std::int64_t, std::span<float>) { turns.await(rank); };
  e->on_adopt = [&](int rank) { turns.pass(rank); };
  test::run_quadratic(job, e);
}

}  // namespace

TEST_CASE("ps-sync equals allreduce bit for bit, after every update") {
  const auto workers = GENERATE(1, 3, 4);
  const auto servers = GENERATE(1, 2, 9);  // more than there are weights, too
  const auto width = GENERATE(1, 3);
  const auto kind = GENERATE(OptimizerKind::sgd, OptimizerKind::adamw);
  CAPTURE(workers, servers, width, name(kind));
  config::Job job = server_job(TopologyKind::allreduce, workers, 25);
  job.optimizer.kind = kind;
  job.optimizer.weight_decay = 0.01;
  job.topology.width = width;
  const test::Quadratic problem;
  const auto reduced = test::trained(job, problem);
  job.topology.kind = TopologyKind::ps_sync;
  job.topology.servers = servers;
  const auto served = test::trained(job, problem);
  for (int rank = 0; rank < workers; ++rank) {
    auto weights = served->weights_of(rank);
    // With its last update applied, a worker asks for the last state.
    REQUIRE(weights.size() == reduced->weights_of(rank).size() + 1);
    CHECK(weights.back() == weights[weights.size() - 2]);
    weights.pop_back();
    CHECK(weights == reduced->weights_of(rank));
  }
}

TEST_CASE("ps-sync with correction momentum equals a plain loop") {
  const auto width = GENERATE(2, 3);
  const auto nesterov = GENERATE(false, true);
  config::Job job = server_job(TopologyKind::ps_sync, 3, 30);
  job.topology.width = width;
  job.topology.correction = Correction::momentum;
  job.topology.servers = 2;
  job.optimizer.nesterov = nesterov;
  const test::Quadratic problem;
  test::require_equal(test::trained(job, problem)->last_weights(1), test::plain_training(job, problem, 30).back());
}

TEST_CASE("ps-sync clips by the norm of the whole mean, however many servers there are") {
  config::Job job = server_job(TopologyKind::allreduce, 2, 20);
  job.optimizer.clip_norm = 0.5;
  const test::Quadratic problem;
  const auto reduced = test::trained(job, problem)->last_weights(0);
  job.topology.kind = TopologyKind::ps_sync;
  CHECK(test::trained(job, problem)->last_weights(0) == reduced);
  job.topology.servers = 3;
  test::require_equal(test::trained(job, problem)->last_weights(0), reduced);
}

TEST_CASE("ps-async with staleness 0 is ps-sync") {
  config::Job job = server_job(TopologyKind::ps_sync, 4, 30);
  const test::Quadratic problem;
  const auto together = test::trained(job, problem);
  job.topology.kind = TopologyKind::ps_async;
  job.topology.staleness = 0;
  CHECK(test::trained(job, problem)->weights_of(3) == together->weights_of(3));
}

TEST_CASE("ps-async clips each gradient by the norm of all its parts") {
  config::Job job = server_job(TopologyKind::ps_async, 2, 20);
  job.topology.staleness = 3;
  job.topology.servers = 3;
  job.optimizer.clip_norm = 0.3;
  const test::Quadratic problem;
  const auto e = test::experiment(problem);
  run_in_turns(job, e);
  const auto expected = test::plain_asynchronous_training(job, problem, 20);
  for (std::size_t i = 0; i < expected.size(); ++i) REQUIRE(e->last_weights(0)[i] == Approx(expected[i]).margin(1e-5));
}

TEST_CASE("ps-async applies each gradient as it comes: a run equals a plain loop of workers that take turns") {
  const auto workers = GENERATE(1, 2, 4);
  const auto servers = GENERATE(1, 3);
  const auto correction = GENERATE(Correction::none, Correction::momentum, Correction::local, Correction::dc);
  const auto kind = GENERATE(OptimizerKind::sgd, OptimizerKind::adamw);
  CAPTURE(workers, servers, name(correction), name(kind));
  config::Job job = server_job(TopologyKind::ps_async, workers, 20);
  job.optimizer.kind = kind;
  job.optimizer.weight_decay = 0.01;
  job.topology.servers = servers;
  job.topology.staleness = 3;
  job.topology.correction = correction;
  job.topology.dc_lambda = 0.5;
  const test::Quadratic problem;
  const auto e = test::experiment(problem);
  run_in_turns(job, e);
  const auto expected = test::plain_asynchronous_training(job, problem, 20);
  for (int rank = 0; rank < workers; ++rank) test::require_equal(e->last_weights(rank), expected);
}

TEST_CASE("no worker runs further ahead of the slowest than the staleness allows, and the summary tells how far") {
  const auto width = GENERATE(1, 2, 3);
  const auto servers = GENERATE(1, 2);
  CAPTURE(width, servers);
  constexpr int workers = 4;
  constexpr std::int64_t steps = 12;
  config::Job job = server_job(TopologyKind::ps_async, workers, steps);
  job.topology.width = width;
  job.topology.servers = servers;
  job.topology.staleness = width + 1;
  const std::int64_t bound = *job.topology.staleness;
  const auto e = test::experiment();
  // The slowest worker takes its time over each step until the others are as far ahead as they may be.
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::int64_t> begun(workers, -1);
  std::int64_t furthest_ahead = 0;
  e->before_gradient = [&](int rank, std::int64_t step, std::span<float>) {
    std::unique_lock lock(mutex);
    begun[static_cast<std::size_t>(rank)] = step;
    furthest_ahead = std::max(furthest_ahead, step - *std::min_element(begun.begin(), begun.end()));
    changed.notify_all();
    const std::int64_t awaited = std::min(step + bound, steps - 1);
    changed.wait(lock, [&] { return rank != 0 || *std::min_element(begun.begin() + 1, begun.end()) >= awaited; });
  };
  const actors::RunSummary summary = test::run_quadratic(job, e);
  // A worker that has handed its gradient over has not begun the next step for a moment.
  CHECK(furthest_ahead <= bound + 1);
  REQUIRE(static_cast<std::int64_t>(summary.staleness.size()) == bound + 1);
  CHECK(summary.staleness.back() >= steps - 2 * bound);
  CHECK(std::accumulate(summary.staleness.begin(), summary.staleness.end(), std::int64_t{0}) == workers * steps);
  for (int rank = 1; rank < workers; ++rank) CHECK(e->last_weights(rank) == e->last_weights(0));
}

TEST_CASE("without a bound a worker finishes while another is at its first step, and the run warns of it") {
  config::Job job = server_job(TopologyKind::ps_async, 2, 50);
  const auto e = test::experiment();
  std::atomic<std::int64_t> fast = 0;
  e->before_gradient = [&](int rank, std::int64_t step, std::span<float>) {
    if (rank == 1) {
      fast = step;
      fast.notify_all();
      return;
    }
    for (std::int64_t seen = fast; seen < 49; seen = fast) fast.wait(seen);
  };
  test::KeepingObserver observer;
  actors::LocalRun run(job, test::make_quadratic_replicas(job, e), observer, test::patient());
  const actors::RunSummary summary = run.wait();
  CHECK(summary.steps == 50);
  CHECK(summary.staleness.size() >= 49);
  REQUIRE(observer.warnings.size() == 1);
  CHECK_THAT(observer.warnings[0], Contains("topology.staleness is unset"));
  CHECK(e->last_weights(0) == e->last_weights(1));
}

TEST_CASE("an evaluation with predicted weights is of the true ones, and changes nothing") {
  const auto kind = GENERATE(TopologyKind::ps_sync, TopologyKind::ps_async);
  config::Job job = server_job(kind, 1, 25);
  job.topology.width = 2;
  job.topology.correction = Correction::momentum;
  const auto alone = test::experiment();
  test::run_quadratic(job, alone);
  job.run.evaluate_epochs = true;
  const auto evaluated = test::experiment();
  test::KeepingObserver observer;
  actors::LocalRun run(job, test::make_quadratic_replicas(job, evaluated), observer, test::patient());
  run.wait();
  CHECK(observer.tests.size() == 3);
  CHECK(evaluated->last_weights(0) == alone->last_weights(0));
}

TEST_CASE("N1: with parameter servers a gradient that is not finite is skipped") {
  const auto kind = GENERATE(TopologyKind::ps_sync, TopologyKind::ps_async);
  const auto codec = GENERATE(Codec::none, Codec::bf16, Codec::int8);
  const auto servers = GENERATE(1, 2);
  const auto correction = GENERATE(Correction::none, Correction::local);
  const auto value = GENERATE(std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity());
  if (kind == TopologyKind::ps_sync && correction == Correction::local) return;
  CAPTURE(name(kind), name(codec), servers, value);
  config::Job job = server_job(kind, 3, 20);
  job.topology.codec = codec;
  job.topology.servers = servers;
  job.topology.correction = correction;
  if (kind == TopologyKind::ps_async) job.topology.staleness = 2;
  const auto e = test::experiment();
  e->before_gradient = [value](int rank, std::int64_t step, std::span<float> gradient) {
    if (rank == 1 && step == 7) gradient[4] = value;
  };
  const actors::RunSummary summary = test::run_quadratic(job, e);
  CHECK(summary.skipped_updates == 1);
  CHECK(summary.steps == 20);
  for (int rank = 0; rank < 3; ++rank) {
    CHECK(e->last_weights(rank) == e->last_weights(0));
    for (const auto& weights : e->weights_of(rank)) {
      for (const float w : weights) CHECK(std::isfinite(w));
    }
  }
}

TEST_CASE("N1: with parameter servers five skipped gradients in a row end the run and name rank and step") {
  const auto kind = GENERATE(TopologyKind::ps_sync, TopologyKind::ps_async);
  config::Job job = server_job(kind, 3, 100);
  const auto e = test::experiment();
  e->before_gradient = [](int rank, std::int64_t step, std::span<float> gradient) {
    if (rank == 1 && step >= 7) gradient[0] = std::numeric_limits<float>::quiet_NaN();
  };
  CHECK_THAT(test::first_line(test::error_of(job, e)), Contains("worker 1") && Contains("5 steps in a row, 7 to 11") &&
                                                           Contains("the gradient of rank 1 is NaN or infinite"));
}

TEST_CASE("with a codec all workers of ps-sync hold the same bits, close to those without") {
  const auto codec = GENERATE(Codec::bf16, Codec::int8);
  const auto servers = GENERATE(1, 2);
  config::Job job = server_job(TopologyKind::ps_sync, 3, 60);
  job.topology.servers = servers;
  test::Quadratic problem;
  problem.size = 3000;
  const auto exact = test::trained(job, problem)->last_weights(0);
  job.topology.codec = codec;
  const auto coded = test::trained(job, problem);
  CHECK(coded->weights_of(1) == coded->weights_of(0));
  CHECK(coded->weights_of(2) == coded->weights_of(0));
  for (std::size_t i = 0; i < exact.size(); ++i) REQUIRE(std::abs(coded->last_weights(0)[i] - exact[i]) < 0.02F);
}

TEST_CASE("F4: an exception in a worker ends a run with parameter servers") {
  const auto kind = GENERATE(TopologyKind::ps_sync, TopologyKind::ps_async);
  const auto width = GENERATE(1, 2);
  config::Job job = server_job(kind, 3, 1000);
  job.topology.width = width;
  job.topology.servers = 2;
  const auto e = test::experiment();
  e->before_gradient = [](int rank, std::int64_t step, std::span<float>) {
    if (rank == 2 && step == 6) throw std::runtime_error("bad shard");
  };
  const std::string error = test::error_of(job, e);
  CHECK(test::first_line(error) == "worker 2 at step 6: bad shard");
  CHECK_THAT(error, Contains("\n  in consequence, parameter server 1"));
}

TEST_CASE("an exception before the first step ends a run with parameter servers") {
  const auto e = test::experiment();
  e->on_build = [](int rank) {
    if (rank == 1) throw std::runtime_error("no memory left");
  };
  CHECK(test::first_line(test::error_of(server_job(TopologyKind::ps_sync, 3, 10), e)) == "worker 1: no memory left");
}

TEST_CASE("a worker that does not come ends the run at the deadline, and its server names it") {
  const auto kind = GENERATE(TopologyKind::ps_sync, TopologyKind::ps_async);
  const auto servers = GENERATE(1, 2);
  config::Job job = server_job(kind, 3, 1000);
  job.topology.servers = servers;
  if (kind == TopologyKind::ps_async) job.topology.staleness = 3;
  job.run.exchange_timeout_seconds = 2;
  const auto e = test::experiment();
  std::promise<void> release;
  e->before_gradient = [released = release.get_future().share()](int rank, std::int64_t step, std::span<float>) {
    if (rank == 1 && step == 5) released.wait();
  };
  test::KeepingObserver observer;
  actors::RunOptions options;
  options.grace = std::chrono::milliseconds(200);
  actors::LocalRun run(job, test::make_quadratic_replicas(job, e), observer, options);
  try {
    run.wait();
    FAIL("the run did not fail");
  } catch (const actors::RunError& error) {
    CHECK(error.stuck);
    CHECK_THAT(test::first_line(error.what()), Contains("parameter server") && Contains("rank 1 did not come in time"));
    CHECK_THAT(error.what(), Contains("worker 1 has not ended"));
  }
  release.set_value();
}

TEST_CASE("a worker that is done waits for one that still goes on, however long that takes") {
  // Rank 0 holds each of its steps until a part of the time that is allowed has passed.
  config::Job job = server_job(TopologyKind::ps_async, 2, 12);
  job.topology.staleness = 1000;
  job.run.exchange_timeout_seconds = 2;
  const auto e = test::experiment();
  e->before_gradient = [](int rank, std::int64_t, std::span<float>) {
    if (rank == 0) std::this_thread::sleep_for(std::chrono::milliseconds(250));
  };
  CHECK(test::run_quadratic(job, e).steps == 12);
}

TEST_CASE("updates can be applied when their reducer has ended") {
  // Worker 0 is told of an update, and then to stop, while it computes; it goes on for a step before it sees that.
  const auto kind = GENERATE(TopologyKind::ps_sync, TopologyKind::ps_async);
  config::Job job = server_job(kind, 2, 1000);
  job.topology.width = 2;
  test::Quadratic problem;
  problem.size = 1 << 16;  // large enough to be unmapped when it is freed
  const auto e = test::experiment(problem);
  std::promise<void> failed;
  e->before_gradient = [&, after = failed.get_future().share()](int rank, std::int64_t step, std::span<float>) {
    if (step != 6) return;
    if (rank == 0) return after.wait();
    failed.set_value();
    throw std::runtime_error("bad shard");
  };
  CHECK(test::first_line(test::error_of(job, e)) == "worker 1 at step 6: bad shard");
}

TEST_CASE("a run with parameter servers ends in order when it is interrupted") {
  const auto kind = GENERATE(TopologyKind::ps_sync, TopologyKind::ps_async);
  config::Job job = server_job(kind, 3, 1'000'000'000);
  job.run.report_seconds = 0.01;
  const auto e = test::experiment();
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
  CHECK(e->last_weights(1) == e->last_weights(0));
  CHECK(e->last_weights(2) == e->last_weights(0));
}

TEST_CASE("a run with parameter servers shows their spans in tracks of their own") {
  config::Job job = server_job(TopologyKind::ps_sync, 2, 10);
  job.topology.servers = 3;
  const actors::RunSummary summary = test::run_quadratic(job, test::experiment());
  REQUIRE(summary.tracks.size() == 7);
  CHECK(std::count_if(summary.tracks.begin(), summary.tracks.end(), [](const scheduler::Track& track) {
          const bool applies = std::any_of(track.spans.begin(), track.spans.end(), [](const scheduler::Span& span) {
            return span.phase == scheduler::Phase::apply;
          });
          return track.actor == "parameter server" && applies;
        }) == 3);
}

TEST_CASE("a codec in shared memory is said to save nothing") {
  config::Job job = server_job(TopologyKind::ps_sync, 2, 3);
  job.topology.codec = Codec::int8;
  test::KeepingObserver observer;
  actors::LocalRun run(job, test::make_quadratic_replicas(job, test::experiment()), observer, test::patient());
  run.wait();
  REQUIRE(observer.warnings.size() == 1);
  CHECK_THAT(observer.warnings[0], Contains("int8") && Contains("saves nothing"));
}
