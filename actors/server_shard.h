#pragma once

#include <optional>
#include <span>
#include <vector>

#include "comm/communicator.h"
#include "config/job.h"
#include "models/flat_state.h"

namespace tandem::actors {

/// A worker's gradient, or a server's part of it.
struct PushedGradient {
  comm::Step step = 0;
  std::span<const float> values;
  /// Samples that it is the mean of. With weight 0 the values are not read.
  double weight = 0;
  /// Of the whole gradient, not of this part alone.
  bool finite = true;
  std::optional<double> squared_norm;
};

/// A parameter server's part of the state vector: weights, the optimizer's state, and how gradients become updates.
/// Plain state without actors; owner only.
///
/// Together (ps-sync): apply_mean() takes one step with the mean over all workers' samples, which is summed as the
/// in-process AllReduce does, in rank order, so that both give the same bits.
///
/// One by one (ps-async): apply() takes a step with each gradient. Its learning rate is the gradient's share of a full
/// global batch, so that the gradients of all workers together move the weights as far as their mean would (in the last
/// step of an epoch, which has fewer samples, less far). The schedule goes by the gradients that came, divided by the
/// workers, so that it is the run's and not that of a worker that is faster or slower.
class ServerShard {
 public:
  struct Place {
    std::size_t first = 0;  ///< of the state vector
    std::size_t size = 0;
    std::size_t parameters = 0;  ///< of the whole vector; statistics follow
  };

  ServerShard(const config::Job& job, const models::LearningRate& rate, const Place& place);

  void begin_with(std::span<const float> state);

  /// The mean of all workers' gradients, by rank; read until the next call. For apply_mean().
  comm::Mean mean(std::span<const PushedGradient> gradients);

  /// `finite` and `squared_norm` are of the mean's parts on all servers. A mean that is not finite, or without samples,
  /// changes nothing.
  void apply_mean(const comm::Mean& mean, bool finite, std::optional<double> squared_norm);

  /// Of the parameters in a gradient, or in a mean, of this part.
  double squared_norm(std::span<const float> gradient) const;

  /// Takes a step with the gradient of one worker, unless it is not finite or of no samples. With correction "dc" it is
  /// g + dc_lambda * g * g * (weights now - weights that g was computed at) instead of g (Zheng et al., Asynchronous
  /// Stochastic Gradient Descent with Delay Compensation, ICML 2017). Clipping goes by `gradient.squared_norm`, if set,
  /// whatever the compensation adds. `gradient` is read until the worker's next one. Returns whether all was finite.
  bool apply(int worker, const PushedGradient& gradient);

  /// The state that `worker` computes with next, valid until the next change: the true one; or with the parameters
  /// predicted for the time when its next gradient comes. By then about workers * width - 1 other gradients will have
  /// been applied (ps-sync: width - 1 means). "momentum" takes as many steps with the momentum alone, "local" with the
  /// worker's newest gradient in place of each: that is arithmetic for each parameter that grows with workers * width.
  /// In ps-sync, the steps at the end of the warm-up, in which the pipeline fills, are computed at the true state.
  std::span<const float> state_for(int worker);

  std::span<const float> true_state() const { return state_.values(); }

 private:
  static constexpr int nobody = -1;

  // What is kept of a worker's newest gradient.
  struct Newest {
    models::StepGradient gradient;
    comm::Step step = 0;  // the worker's own
    bool applied = false;
    std::vector<std::vector<float>> computed_at;  // dc: the state that it computes with, by slot of the window
  };

  Newest& newest(int worker) { return newest_[static_cast<std::size_t>(worker)]; }
  models::Prediction prediction_after(const models::StepGradient& update) const;
  std::vector<models::StepGradient> steps_after(const models::StepGradient& update) const;
  std::span<const float> compensated(int worker, const PushedGradient& gradient);

  config::Job job_;
  models::FlatState state_;
  std::vector<Newest> newest_;  // by worker; ps-async
  comm::Step gradients_ = 0;    // that came one by one
  int predicted_for_ = nobody;  // ps-async
  std::vector<float> mean_;
  std::vector<float> compensated_;
};

}  // namespace tandem::actors
