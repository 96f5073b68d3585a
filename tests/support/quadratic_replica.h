#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "config/job.h"
#include "models/optimizer.h"
#include "models/replica.h"

// A replica that needs no LibTorch: a quadratic whose minimum each sample pulls to a place of its own.
namespace tandem::test {

/// The loss of one worker's share of a step is the mean over its samples of sum_i curvature(i)/2 (w_i - target)^2.
struct Quadratic {
  std::size_t size = 5;
  bool same_data = false;  ///< the same share on every rank
  std::int64_t steps_per_epoch = 10;
  /// Samples in a share; by default they differ between ranks and steps.
  std::function<std::int64_t(std::int64_t step, int rank)> samples = [](std::int64_t step, int rank) {
    return 1 + (step + 3 * rank) % 4;
  };
  float scale = 1;  ///< multiplies every curvature

  float curvature(std::size_t i) const { return scale / static_cast<float>(1 + i); }
  float first_weight(std::size_t i) const { return 2.0F + static_cast<float>(i) / 4; }
  /// The mean of the share's targets.
  float target(std::int64_t step, int rank, std::size_t i) const {
    const std::int64_t mixed = (step * 7 + (same_data ? 0 : rank) * 13 + static_cast<std::int64_t>(i) * 5) % 17;
    return static_cast<float>(mixed) / 16 - 0.5F;
  }
  std::vector<float> gradient(std::int64_t step, int rank, std::span<const float> weights) const;
};

/// What tests do to a run, and see of it. Safe from any thread.
struct Experiment {
  explicit Experiment(Quadratic quadratic) : problem(std::move(quadratic)) {}

  const Quadratic problem;
  /// Called on the worker's thread before a gradient is handed over; may change it or throw.
  std::function<void(int rank, std::int64_t step, std::span<float> gradient)> before_gradient = [](auto&&...) {};
  std::function<void(int rank)> on_build = [](int) {};
  std::function<void(int rank)> on_evaluate = [](int) {};
  std::function<void(int rank)> on_adopt = [](int) {};
  std::function<std::vector<models::Parameter>(int rank)> parameters = [](int) {
    return std::vector<models::Parameter>{{"w", {5}}};
  };

  /// The true weights of a rank after each of its updates (several applied at once count once), or each of the states
  /// that it adopted.
  std::vector<std::vector<float>> weights_of(int rank) const;
  std::vector<float> last_weights(int rank) const { return weights_of(rank).back(); }

  void saw(int rank, std::span<const float> weights);

 private:
  mutable std::mutex mutex_;
  std::map<int, std::vector<std::vector<float>>> weights_;
};

/// Makes quadratic replicas with the job's optimizer and schedule.
models::ReplicaFactory make_quadratic_replicas(const config::Job& job, std::shared_ptr<Experiment> experiment);

}  // namespace tandem::test
