#include "actors/compute_only.h"

#include <atomic>
#include <barrier>
#include <exception>
#include <mutex>
#include <thread>

namespace tandem::actors {
namespace {

class NoListener final : public models::PhaseListener {
 public:
  void phase_ended(models::ComputePhase) override {}
};

// The workers' common ground while they compute.
struct Measurement {
  explicit Measurement(int workers) : all_built(workers) {}

  std::barrier<> all_built;
  std::atomic<bool> over = false;
  std::mutex mutex;
  scheduler::DurationHistogram times;
  std::exception_ptr error;
};

void compute_steps(models::Replica& replica, std::int64_t steps, Measurement& measurement) {
  const scheduler::SteadyClock clock;
  NoListener listener;
  std::vector<float> gradient(replica.size());
  scheduler::Time begin = clock.now();
  std::vector<scheduler::Time> durations;
  for (std::int64_t step = 0; step < steps && !measurement.over; ++step) {
    replica.compute(step, gradient, listener);
    const scheduler::Time end = clock.now();
    durations.push_back(end - begin);
    begin = end;
  }
  measurement.over = true;
  const std::lock_guard lock(measurement.mutex);
  for (const scheduler::Time duration : durations) measurement.times.add(duration);
}

void measure_worker(int rank, const config::Job& job, const models::ReplicaFactory& replicas, std::int64_t steps,
                    Measurement& measurement) {
  std::unique_ptr<models::Replica> replica;
  const auto keep_error = [&](auto body) {
    try {
      body();
    } catch (...) {
      measurement.over = true;
      const std::lock_guard lock(measurement.mutex);
      measurement.error = std::current_exception();
    }
  };
  keep_error([&] { replica = replicas(rank, job.training.workers); });
  measurement.all_built.arrive_and_wait();
  if (replica) keep_error([&] { compute_steps(*replica, steps, measurement); });
}

}  // namespace

scheduler::DurationHistogram compute_only(const config::Job& job, const models::ReplicaFactory& replicas,
                                          std::int64_t steps) {
  Measurement measurement(job.training.workers);
  {
    std::vector<std::jthread> workers;
    for (int rank = 0; rank < job.training.workers; ++rank) {
      workers.emplace_back([&, rank] { measure_worker(rank, job, replicas, steps, measurement); });
    }
  }
  if (measurement.error) std::rethrow_exception(measurement.error);
  return measurement.times;
}

}  // namespace tandem::actors
