#include "actors/server_shard.h"

#include <algorithm>

#include "comm/weighted_sum.h"
#include "models/step_kernels.h"

namespace tandem::actors {
namespace {

using config::Correction;
using models::Prediction;
using models::StepGradient;

std::size_t parameters_in(const ServerShard::Place& place) {
  return std::min(place.size, std::max(place.parameters, place.first) - place.first);
}

// The same gradient, at the learning rate of a later step.
StepGradient following(const StepGradient& update, comm::Step distance) {
  StepGradient step = update;
  step.step += distance;
  return step;
}

}  // namespace

ServerShard::ServerShard(const config::Job& job, const models::LearningRate& rate, const Place& place)
    : job_(job),
      state_(job.optimizer, rate, parameters_in(place), place.size - parameters_in(place)),
      newest_(static_cast<std::size_t>(job.training.workers)),
      mean_(place.size) {}

void ServerShard::begin_with(std::span<const float> state) {
  state_.adopt(state);
  if (job_.topology.correction != Correction::dc) return;
  for (Newest& worker : newest_) {
    worker.computed_at.assign(static_cast<std::size_t>(job_.topology.width), {state.begin(), state.end()});
  }
}

comm::Mean ServerShard::mean(std::span<const PushedGradient> gradients) {
  comm::Mean mean;
  mean.step = gradients.front().step;
  mean.values = mean_;
  for (const PushedGradient& gradient : gradients) mean.weight += gradient.weight;
  std::vector<comm::Term> terms;
  for (std::size_t rank = 0; rank < gradients.size(); ++rank) {
    const PushedGradient& gradient = gradients[rank];
    if (gradient.weight == 0) continue;
    terms.push_back({gradient.values.data(), static_cast<float>(gradient.weight / mean.weight)});
    if (!gradient.finite && !mean.non_finite_rank) mean.non_finite_rank = static_cast<int>(rank);
  }
  mean.finite = comm::weighted_sum(terms, 0, mean_) && !mean.non_finite_rank;
  return mean;
}

void ServerShard::apply_mean(const comm::Mean& mean, bool finite, std::optional<double> squared_norm) {
  const StepGradient update{.step = mean.step, .values = mean.values, .rate_share = 1, .squared_norm = squared_norm};
  const std::size_t updates = finite && mean.weight > 0 ? 1 : 0;
  state_.advance({&update, updates}, prediction_after(update), steps_after(update));
}

double ServerShard::squared_norm(std::span<const float> gradient) const {
  return models::sum_of_squares(state_.parameters_of(gradient));
}

bool ServerShard::apply(int worker, const PushedGradient& gradient) {
  const auto global_batch = static_cast<double>(job_.training.workers * job_.training.batch * job_.training.accumulate);
  const std::span<const float> values = compensated(worker, gradient);
  // The compensation may overflow.
  const bool finite = gradient.finite && (values.data() == gradient.values.data() || comm::all_finite(values));
  const StepGradient update{.step = gradients_++ / job_.training.workers,
                            .values = values,
                            .rate_share = gradient.weight / global_batch,
                            .squared_norm = gradient.squared_norm};
  newest(worker).gradient = update;
  newest(worker).step = gradient.step;
  newest(worker).applied = finite && gradient.weight > 0;
  predicted_for_ = nobody;
  if (!newest(worker).applied) return finite;
  state_.advance({&update, 1}, prediction_after(update), steps_after(update));
  predicted_for_ = worker;
  return finite;
}

std::span<const float> ServerShard::state_for(int worker) {
  if (config::is_synchronous(job_.topology)) return state_.predicted();
  Newest& its = newest(worker);
  if (predicted_for_ != worker) {
    // Without a gradient to predict from, the true state.
    const Prediction prediction = its.applied ? prediction_after(its.gradient) : Prediction::none;
    state_.advance({}, prediction, steps_after(its.gradient));
    predicted_for_ = worker;
  }
  if (job_.topology.correction == Correction::dc) {
    const auto slot = static_cast<std::size_t>(its.step) % its.computed_at.size();
    std::copy(state_.values().begin(), state_.values().end(), its.computed_at[slot].begin());
  }
  return state_.predicted();
}

Prediction ServerShard::prediction_after(const StepGradient& update) const {
  const bool synchronous = config::is_synchronous(job_.topology);
  // Steps of the warm-up are computed one by one.
  if (synchronous && (job_.topology.width == 1 || update.step + 1 < job_.topology.warmup_steps)) {
    return Prediction::none;
  }
  switch (job_.topology.correction) {
    case Correction::momentum:
      return Prediction::momentum;
    case Correction::local:
      return Prediction::local;
    case Correction::none:
    case Correction::dc:
      break;
  }
  return Prediction::none;
}

std::vector<StepGradient> ServerShard::steps_after(const StepGradient& update) const {
  std::vector<StepGradient> steps;
  const int width = job_.topology.width;
  if (config::is_synchronous(job_.topology)) {
    for (int distance = 1; distance < width; ++distance) steps.push_back(following(update, distance));
    return steps;
  }
  const int others = job_.training.workers * width - 1;
  for (int i = 0; i < others; ++i) steps.push_back(following(update, 1));
  return steps;
}

std::span<const float> ServerShard::compensated(int worker, const PushedGradient& gradient) {
  if (job_.topology.correction != Correction::dc || gradient.weight == 0) return gradient.values;
  Newest& its = newest(worker);
  const std::vector<float>& then = its.computed_at[static_cast<std::size_t>(gradient.step) % its.computed_at.size()];
  const std::span<const float> now = state_.values();
  const auto lambda = static_cast<float>(job_.topology.dc_lambda);
  compensated_.assign(gradient.values.begin(), gradient.values.end());
  const std::size_t parameters = state_.parameters().size();
  for (std::size_t i = 0; i < parameters; ++i) {
    const float g = compensated_[i];
    compensated_[i] = g + lambda * g * g * (now[i] - then[i]);
  }
  return compensated_;
}

}  // namespace tandem::actors
