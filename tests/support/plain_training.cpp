#include "support/plain_training.h"

#include <algorithm>
#include <cmath>
#include <deque>

namespace tandem::test {
namespace {

using config::OptimizerKind;
using Vector = std::vector<float>;

// Weights with the state of their optimizer; a copy of it is a scratch copy.
struct Weights {
  const config::Optimizer settings;
  Vector w;
  Vector m = Vector(w.size());
  Vector v = Vector(w.size());
  int count = 0;

  // `share` is the part of the learning rate that the step takes.
  void step(const Vector& gradient, double share = 1) {
    ++count;
    for (std::size_t i = 0; i < w.size(); ++i) step_one(i, gradient[i], share, true);
  }
  void momentum_alone(double share = 1) {
    ++count;
    for (std::size_t i = 0; i < w.size(); ++i) step_one(i, 0, share, false);
  }

 private:
  void step_one(std::size_t i, float g, double share, bool real) {
    const double rate = settings.lr * share;
    const auto lr = static_cast<float>(rate);
    const auto decay = static_cast<float>(real ? settings.weight_decay : 0);
    if (settings.kind == OptimizerKind::sgd) {
      const auto mu = static_cast<float>(settings.momentum);
      g += decay * w[i];
      m[i] = mu * m[i] + g;
      w[i] -= lr * (settings.nesterov && real ? g + mu * m[i] : m[i]);
      return;
    }
    if (settings.kind == OptimizerKind::adam) g += decay * w[i];
    if (settings.kind == OptimizerKind::adamw) w[i] *= 1 - lr * decay;
    m[i] = static_cast<float>(settings.beta1 * m[i] + (1 - settings.beta1) * g);
    if (real) v[i] = static_cast<float>(settings.beta2 * v[i] + (1 - settings.beta2) * g * g);
    const double m_hat = m[i] / (1 - std::pow(settings.beta1, count));
    const double v_hat = v[i] / (1 - std::pow(settings.beta2, count));
    w[i] -= static_cast<float>(rate * m_hat / (std::sqrt(v_hat) + settings.epsilon));
  }
};

struct InFlight {
  std::vector<Vector> own;  // by rank
  Vector mean;
};

Vector where_gradient_is_taken(const Weights& weights, const std::deque<InFlight>& in_flight, std::size_t rank,
                               config::Correction correction) {
  Weights scratch = weights;
  for (const InFlight& step : in_flight) {
    if (correction == config::Correction::local) scratch.step(step.own[rank]);
    if (correction == config::Correction::momentum) scratch.momentum_alone();
  }
  return scratch.w;
}

InFlight compute_step(const config::Job& job, const Quadratic& problem, std::int64_t step, const Weights& weights,
                      const std::deque<InFlight>& in_flight) {
  InFlight result{{}, Vector(problem.size)};
  double samples = 0;
  for (int rank = 0; rank < job.training.workers; ++rank) samples += static_cast<double>(problem.samples(step, rank));
  for (int rank = 0; rank < job.training.workers; ++rank) {
    const Vector at =
        where_gradient_is_taken(weights, in_flight, static_cast<std::size_t>(rank), job.topology.correction);
    result.own.push_back(problem.gradient(step, rank, at));
    const auto share = static_cast<float>(static_cast<double>(problem.samples(step, rank)) / samples);
    for (std::size_t i = 0; i < problem.size; ++i) result.mean[i] += share * result.own.back()[i];
  }
  return result;
}

void clip(Vector& gradient, double norm) {
  double squares = 0;
  for (const float g : gradient) squares += static_cast<double>(g) * g;
  for (float& g : gradient) g *= static_cast<float>(std::min(1.0, norm / std::sqrt(squares)));
}

Weights first_weights(const config::Job& job, const Quadratic& problem) {
  Weights weights{job.optimizer, {}};
  for (std::size_t i = 0; i < problem.size; ++i) weights.w.push_back(problem.first_weight(i));
  weights.m.resize(problem.size);
  weights.v.resize(problem.size);
  return weights;
}

}  // namespace

std::vector<Vector> plain_training(const config::Job& job, const Quadratic& problem, std::int64_t steps) {
  Weights weights = first_weights(job, problem);
  std::vector<Vector> history;
  std::deque<InFlight> in_flight;
  const auto apply_oldest = [&] {
    weights.step(in_flight.front().mean);
    in_flight.pop_front();
    history.push_back(weights.w);
  };
  for (std::int64_t step = 0; step < steps; ++step) {
    const auto width = static_cast<std::size_t>(step < job.topology.warmup_steps ? 1 : job.topology.width);
    while (in_flight.size() >= width) apply_oldest();
    in_flight.push_back(compute_step(job, problem, step, weights, in_flight));
  }
  while (!in_flight.empty()) apply_oldest();
  return history;
}

std::vector<float> plain_asynchronous_training(const config::Job& job, const Quadratic& problem, std::int64_t steps) {
  const int workers = job.training.workers;
  const auto global_batch = static_cast<double>(workers * job.training.batch);
  Weights weights = first_weights(job, problem);
  std::vector<Vector> given(static_cast<std::size_t>(workers), weights.w);
  std::vector<Vector> true_when_given = given;
  for (std::int64_t step = 0; step < steps; ++step) {
    for (int rank = 0; rank < workers; ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      const double share = static_cast<double>(problem.samples(step, rank)) / global_batch;
      Vector gradient = problem.gradient(step, rank, given[r]);
      if (job.optimizer.clip_norm) clip(gradient, *job.optimizer.clip_norm);
      for (std::size_t i = 0; job.topology.correction == config::Correction::dc && i < problem.size; ++i) {
        const auto lambda = static_cast<float>(job.topology.dc_lambda);
        gradient[i] += lambda * gradient[i] * gradient[i] * (weights.w[i] - true_when_given[r][i]);
      }
      weights.step(gradient, share);
      Weights scratch = weights;
      for (int other = 1; other < workers; ++other) {
        if (job.topology.correction == config::Correction::local) scratch.step(gradient, share);
        if (job.topology.correction == config::Correction::momentum) scratch.momentum_alone(share);
      }
      given[r] = scratch.w;
      true_when_given[r] = weights.w;
    }
  }
  return weights.w;
}

}  // namespace tandem::test
