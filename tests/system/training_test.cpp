// Whole runs with LibTorch, from job to summary.
#include <catch2/catch.hpp>
#include <cmath>

#include "models/torch_replica.h"
#include "support/run_job.h"
#include "system/watched_replica.h"
#include "tools/slowed_replica.h"

namespace {

using namespace tandem;
using config::Correction;
using config::ModelKind;

config::Job small_job(ModelKind model, int workers, std::int64_t batch, int width) {
  config::Job job;
  job.data.kind = config::DataKind::synthetic;
  job.data.samples = 600;
  job.data.test_samples = 100;
  job.data.height = job.data.width = 12;
  job.model.kind = model;
  job.model.hidden = {32, 24};
  job.training.workers = workers;
  job.training.batch = batch;
  job.training.epochs = 2;
  job.optimizer.lr = 0.01;
  job.topology.width = width;
  job.topology.correction = width == 1 ? Correction::none : Correction::local;
  job.run.evaluate_epochs = false;
  return job;
}

actors::RunSummary run(const config::Job& job, const std::shared_ptr<test::Watch>& watch, int threads = 1) {
  test::KeepingObserver observer;
  actors::LocalRun run(job, test::watched(models::make_torch_replicas(job, threads), watch), observer, test::patient());
  return run.wait();
}

std::shared_ptr<test::Watch> watched_run(const config::Job& job) {
  auto watch = std::make_shared<test::Watch>();
  run(job, watch);
  return watch;
}

double relative_difference(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  double difference = 0;
  double norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  return std::sqrt(difference / norm);
}

}  // namespace

TEST_CASE("all replicas hold the same bits after every step, and the same seed gives the same bits again") {
  const auto [model, width] = GENERATE(table<ModelKind, int>({{ModelKind::softmax, 1},
                                                              {ModelKind::softmax, 3},
                                                              {ModelKind::mlp, 1},
                                                              {ModelKind::mlp, 2},
                                                              {ModelKind::resnet18, 2}}));
  CAPTURE(name(model), width);
  config::Job job = small_job(model, 3, model == ModelKind::resnet18 ? 2 : 10, width);
  if (model == ModelKind::resnet18) job.training.steps = 4;
  const auto first = watched_run(job);
  const auto second = watched_run(job);
  for (int rank = 0; rank < 3; ++rank) {
    CHECK(first->fingerprints(rank) == first->fingerprints(0));
    CHECK(second->fingerprints(rank) == first->fingerprints(rank));
  }
  job.training.seed = 2;
  CHECK(watched_run(job)->fingerprints(0) != first->fingerprints(0));
}

TEST_CASE("A1: p workers with batch b equal one worker with batch p*b, uneven last batches included") {
  // 600 samples in global batches of 52 leave a last batch of 28, which four workers share.
  const auto model = GENERATE(ModelKind::softmax, ModelKind::mlp);
  CAPTURE(name(model));
  const auto four = watched_run(small_job(model, 4, 13, 1))->last_weights(0);
  const auto one = watched_run(small_job(model, 1, 52, 1))->last_weights(0);
  CHECK(relative_difference(four, one) < 1e-5);
}

TEST_CASE("A1: workers that accumulate over batches equal one worker with one large batch") {
  // 600 samples in global batches of 52 leave a last batch of 28: 14 samples a worker, in batches of 7 and 7.
  const auto model = GENERATE(ModelKind::softmax, ModelKind::mlp);
  CAPTURE(name(model));
  config::Job job = small_job(model, 2, 13, 1);
  job.training.accumulate = 2;
  const auto accumulated = watched_run(job)->last_weights(0);
  const auto one = watched_run(small_job(model, 1, 52, 1))->last_weights(0);
  CHECK(relative_difference(accumulated, one) < 1e-5);
}

TEST_CASE("ps-sync equals allreduce bit for bit with LibTorch's models, running statistics included") {
  const auto model = GENERATE(ModelKind::mlp, ModelKind::resnet18);
  const auto servers = GENERATE(1, 3);
  CAPTURE(name(model), servers);
  config::Job job = small_job(model, 3, model == ModelKind::resnet18 ? 2 : 10, 1);
  if (model == ModelKind::resnet18) job.training.steps = 3;
  job.topology.kind = config::TopologyKind::allreduce;
  const auto reduced = watched_run(job)->last_weights(0);
  job.topology.kind = config::TopologyKind::ps_sync;
  job.topology.servers = servers;
  CHECK(watched_run(job)->last_weights(2) == reduced);
}

TEST_CASE("N3: with staleness 2 and one of five workers four times slower, accuracy is that of synchronous training") {
  config::Job job = small_job(ModelKind::mlp, 5, 8, 1);
  job.data.test_samples = 500;
  job.training.epochs = 12;
  job.topology.kind = config::TopologyKind::ps_sync;
  const actors::RunSummary synchronous = run(job, std::make_shared<test::Watch>());
  job.topology.kind = config::TopologyKind::ps_async;
  job.topology.staleness = 2;
  job.topology.correction = Correction::local;
  const models::ReplicaFactory replicas = models::make_torch_replicas(job, 1);
  test::KeepingObserver observer;
  actors::LocalRun slow_run(
      job,
      [&](int rank, int world_size) {
        auto replica = replicas(rank, world_size);
        return rank == 0 ? tools::slowed(std::move(replica), 4) : std::move(replica);
      },
      observer, test::patient());
  const actors::RunSummary asynchronous = slow_run.wait();
  CHECK(synchronous.test->accuracy > 0.9);
  CHECK(asynchronous.test->accuracy > synchronous.test->accuracy - 0.01);
  CHECK(asynchronous.staleness.size() == 3);
}

TEST_CASE("a pipelined run learns, and its accuracy is that of a synchronous one") {
  config::Job job = small_job(ModelKind::mlp, 4, 10, 1);
  job.training.epochs = 12;
  const auto synchronous = run(job, std::make_shared<test::Watch>());
  job.topology.width = 2;
  job.topology.correction = Correction::local;
  const auto pipelined = run(job, std::make_shared<test::Watch>());
  CHECK(synchronous.test->accuracy > 0.9);
  CHECK(pipelined.test->accuracy > 0.9);
}

TEST_CASE("T1: workers compute on their own threads alone where each may use one") {
  const auto watch = std::make_shared<test::Watch>();
  run(small_job(ModelKind::mlp, 1, 128, 2), watch);
  const int with_one_worker = watch->most_threads();
  const auto watch_four = std::make_shared<test::Watch>();
  run(small_job(ModelKind::mlp, 4, 128, 2), watch_four);
  // A worker and a reducer more for each of the other three ranks, and nothing else.
  CHECK(watch_four->most_threads() <= with_one_worker + 6);
}

TEST_CASE("a rank whose share is empty in the last step trains on like the others") {
  config::Job job = small_job(ModelKind::softmax, 4, 10, 2);
  job.data.samples = 81;  // the third step of an epoch has one sample
  const auto watch = std::make_shared<test::Watch>();
  const actors::RunSummary summary = run(job, watch);
  CHECK(summary.steps == 6);
  CHECK(summary.samples == 162);
  CHECK(watch->fingerprints(3) == watch->fingerprints(0));
}
