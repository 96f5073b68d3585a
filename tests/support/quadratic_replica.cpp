#include "support/quadratic_replica.h"

#include <algorithm>

namespace tandem::test {
namespace {

models::LearningRate learning_rate(const config::Job& job, const Quadratic& problem) {
  return {job.optimizer, job.schedule, config::total_steps(job.training, problem.steps_per_epoch)};
}

class QuadraticReplica final : public models::Replica {
 public:
  QuadraticReplica(const config::Job& job, std::shared_ptr<Experiment> experiment, int rank)
      : experiment_(std::move(experiment)),
        rank_(rank),
        parameters_(experiment_->parameters(rank)),
        optimizer_(job.optimizer, learning_rate(job, experiment_->problem), experiment_->problem.size) {
    experiment_->on_build(rank);
    for (std::size_t i = 0; i < size(); ++i) weights_.push_back(experiment_->problem.first_weight(i));
    predicted_ = weights_;
  }

  std::size_t size() const override { return experiment_->problem.size; }
  std::size_t parameter_count() const override { return size(); }
  const std::vector<models::Parameter>& parameters() const override { return parameters_; }
  std::int64_t steps_per_epoch() const override { return experiment_->problem.steps_per_epoch; }

  models::BatchResult compute(std::int64_t step, std::span<float> gradient, models::PhaseListener& listener) override {
    listener.phase_ended(models::ComputePhase::data);
    const std::vector<float>& at = uses_predicted_ ? predicted_ : weights_;
    const std::vector<float> value = experiment_->problem.gradient(step, rank_, at);
    listener.phase_ended(models::ComputePhase::forward);
    std::copy(value.begin(), value.end(), gradient.begin());
    experiment_->before_gradient(rank_, step, gradient);
    listener.phase_ended(models::ComputePhase::backward);
    const std::int64_t samples = experiment_->problem.samples(step, rank_);
    return {samples, 0.5 * static_cast<double>(samples), samples};
  }

  void advance(std::span<const models::StepGradient> updates, models::Prediction prediction,
               std::span<const models::StepGradient> in_flight) override {
    uses_predicted_ = prediction != models::Prediction::none && !in_flight.empty();
    optimizer_.advance(weights_, predicted_, updates, uses_predicted_ ? prediction : models::Prediction::none,
                       in_flight);
    if (!updates.empty()) experiment_->saw(rank_, weights_);
  }

  void adopt(std::span<const float> state) override {
    uses_predicted_ = false;
    weights_.assign(state.begin(), state.end());
    experiment_->saw(rank_, weights_);
    experiment_->on_adopt(rank_);
  }

  models::Evaluation evaluate() override {
    experiment_->on_evaluate(rank_);
    return {10, 5.0, 8};
  }

  std::span<const float> weights() const override { return weights_; }
  std::vector<std::byte> save() const override { return optimizer_.save(); }
  void load(std::span<const std::byte> saved) override { optimizer_.load(saved); }

 private:
  std::shared_ptr<Experiment> experiment_;
  int rank_;
  std::vector<models::Parameter> parameters_;
  models::FlatOptimizer optimizer_;
  std::vector<float> weights_;
  std::vector<float> predicted_;
  bool uses_predicted_ = false;
};

}  // namespace

std::vector<float> Quadratic::gradient(std::int64_t step, int rank, std::span<const float> weights) const {
  std::vector<float> result;
  for (std::size_t i = 0; i < size; ++i) result.push_back(curvature(i) * (weights[i] - target(step, rank, i)));
  return result;
}

std::vector<std::vector<float>> Experiment::weights_of(int rank) const {
  const std::lock_guard lock(mutex_);
  return weights_.at(rank);
}

void Experiment::saw(int rank, std::span<const float> weights) {
  const std::lock_guard lock(mutex_);
  weights_[rank].emplace_back(weights.begin(), weights.end());
}

models::ReplicaFactory make_quadratic_replicas(const config::Job& job, std::shared_ptr<Experiment> experiment) {
  return [job, experiment = std::move(experiment)](int rank, int) {
    return std::make_unique<QuadraticReplica>(job, experiment, rank);
  };
}

}  // namespace tandem::test
