#include <barrier>
#include <catch2/catch.hpp>
#include <filesystem>
#include <iterator>
#include <thread>

#include "models/replica_fixture.h"

namespace tandem::models {
namespace {

constexpr int workers = 4;

config::Job job_of(config::ModelKind model) {
  config::Job job = small_job(model);
  job.training.workers = workers;
  return job;
}

/// The initial weights and, behind them, the gradients of a few steps.
Vector initial_weights_and_gradients(Replica& replica) {
  Vector values = copy_of(replica.weights());
  for (std::int64_t step = 0; step < 2; ++step) {
    const Vector gradient = compute(replica, step).gradient;
    values.insert(values.end(), gradient.begin(), gradient.end());
    apply_update(replica, step, gradient);
  }
  return values;
}

TEST_CASE("replicas made and used at once, each on its thread, compute the same bits as one alone") {
  for (const auto model : {config::ModelKind::softmax, config::ModelKind::mlp, config::ModelKind::resnet18}) {
    const ReplicaFactory factory = make_torch_replicas(job_of(model), 1);
    std::vector<Vector> at_once(workers);
    std::barrier all_here(workers);
    {
      std::vector<std::jthread> threads;
      for (int rank = 0; rank < workers; ++rank) {
        threads.emplace_back([&, rank] {
          all_here.arrive_and_wait();
          at_once[static_cast<std::size_t>(rank)] = initial_weights_and_gradients(*factory(rank, workers));
        });
      }
    }
    for (int rank = 0; rank < workers; ++rank) {
      CHECK(at_once[static_cast<std::size_t>(rank)] == initial_weights_and_gradients(*factory(rank, workers)));
    }
  }
}

TEST_CASE("initial weights depend on the seed, not on the rank") {
  for (const auto model : {config::ModelKind::softmax, config::ModelKind::mlp, config::ModelKind::resnet18}) {
    config::Job job = job_of(model);
    const Vector weights = copy_of(make_replica(job, 0)->weights());
    CHECK(copy_of(make_replica(job, 3)->weights()) == weights);
    job.training.seed = 2;
    CHECK(copy_of(make_replica(job, 0)->weights()) != weights);
  }
}

std::ptrdiff_t threads_of_this_process() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

/// How many threads a replica with `threads` threads starts when it computes.
std::ptrdiff_t threads_started(int threads) {
  std::ptrdiff_t started = 0;
  std::jthread([&] {
    config::Job job = small_job(config::ModelKind::mlp);
    job.model.hidden = {600};
    job.training.batch = 100;
    const auto replica = make_torch_replicas(job, threads)(0, 1);
    const std::ptrdiff_t before = threads_of_this_process();
    compute(*replica, 0);
    started = threads_of_this_process() - before;
  }).join();
  return started;
}

TEST_CASE("a replica computes with as many threads as it was given, those of BLAS included") {
  CHECK(threads_started(1) == 0);
  CHECK(threads_started(3) == 2);
}

}  // namespace
}  // namespace tandem::models
