#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "models/torch_replica.h"

// What the tests of LibTorch's replicas share.
namespace tandem::models {

using Vector = std::vector<float>;

class IgnorePhases final : public PhaseListener {
 public:
  void phase_ended(ComputePhase) override {}
};

/// A job on small synthetic images, for one worker.
inline config::Job small_job(config::ModelKind model) {
  config::Job job;
  job.data.kind = config::DataKind::synthetic;
  job.data.samples = 100;
  job.data.test_samples = 60;
  job.data.channels = 2;
  job.data.height = 8;
  job.data.width = 9;
  job.data.classes = 4;
  job.model.kind = model;
  job.model.hidden = {13, 7};
  job.training.workers = 1;
  job.training.batch = 6;
  return job;
}

inline std::unique_ptr<Replica> make_replica(const config::Job& job, int rank = 0) {
  return make_torch_replicas(job, 1)(rank, job.training.workers);
}

struct Computed {
  BatchResult result;
  Vector gradient;
};

inline Computed compute(Replica& replica, std::int64_t step) {
  IgnorePhases listener;
  Computed computed{.result = {}, .gradient = Vector(replica.size(), -77.0F)};
  computed.result = replica.compute(step, computed.gradient, listener);
  return computed;
}

inline void apply_update(Replica& replica, std::int64_t step, const Vector& gradient) {
  const StepGradient update{.step = step, .values = gradient};
  replica.advance({&update, 1}, Prediction::none, {});
}

/// Trains on one rank without delay.
inline void train(Replica& replica, std::int64_t first_step, std::int64_t steps) {
  for (std::int64_t step = first_step; step < first_step + steps; ++step) {
    apply_update(replica, step, compute(replica, step).gradient);
  }
}

inline Vector copy_of(std::span<const float> values) { return {values.begin(), values.end()}; }

}  // namespace tandem::models
