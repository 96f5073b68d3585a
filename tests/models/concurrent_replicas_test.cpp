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

TEST_CASE("initial weights depend on all bits of the seed, not on the rank") {
  for (const auto model : {config::ModelKind::softmax, config::ModelKind::mlp, config::ModelKind::resnet18}) {
    config::Job job = job_of(model);
    const Vector weights = copy_of(make_replica(job, 0)->weights());
    CHECK(copy_of(make_replica(job, 3)->weights()) == weights);
    for (const std::uint64_t seed : {std::uint64_t{2}, (std::uint64_t{1} << 32) + 1}) {
      job.training.seed = seed;
      CHECK(copy_of(make_replica(job, 0)->weights()) != weights);
    }
  }
}

std::ptrdiff_t count_threads() { return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}); }

/// The threads of this process, once those that are ending have ended: nobody joins the threads of OpenMP.
std::ptrdiff_t settled_threads() {
  constexpr int enough = 1000;
  std::ptrdiff_t threads = count_threads();
  for (int same = 0; same < enough; ++same) {
    std::this_thread::yield();
    const std::ptrdiff_t now = count_threads();
    if (now != threads) same = 0;
    threads = now;
  }
  return threads;
}

/// How many threads a replica with `threads` threads starts when it computes.
std::ptrdiff_t threads_started(int threads) {
  std::ptrdiff_t started = 0;
  std::jthread([&] {
    config::Job job = small_job(config::ModelKind::mlp);
    job.model.hidden = {600};
    job.training.batch = 100;
    const auto replica = make_torch_replicas(job, threads)(0, 1);
    const std::ptrdiff_t before = settled_threads();
    compute(*replica, 0);
    started = settled_threads() - before;
  }).join();
  return started;
}

TEST_CASE("a replica computes with several threads, but no more than it was given, those of BLAS included") {
  CHECK(threads_started(1) == 0);
  const std::ptrdiff_t beside_its_own = threads_started(3);
  CHECK(beside_its_own > 0);
  CHECK(beside_its_own <= 2);
}

}  // namespace
}  // namespace tandem::models
