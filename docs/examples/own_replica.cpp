// Tandem as a library: four workers fit a line to points, each with a replica that knows nothing of LibTorch.

#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <vector>

#include "actors/run.h"
#include "config/job_reader.h"
#include "models/optimizer.h"
#include "models/sampler.h"

namespace {

using namespace tandem;

constexpr std::int64_t points = 1000;

float x_of(std::int64_t point) { return static_cast<float>(point) / points; }

/// How far a line with these weights, slope and height, is from the one that the points lie on.
float error_of(const std::vector<float>& weights, std::int64_t point) {
  const float x = x_of(point);
  return weights[0] * x + weights[1] - (3 * x - 1);
}

/// One worker's line, its optimizer and its share of the points. The loss of a point is half its squared error.
class LineReplica final : public models::Replica {
 public:
  LineReplica(const config::Job& job, int rank, int world_size)
      : rank_(rank),
        world_size_(world_size),
        sampler_({.seed = job.training.seed,
                  .samples = points,
                  .world_size = world_size,
                  .batch = job.training.batch * job.training.accumulate}),
        optimizer_(job.optimizer, {job.optimizer, job.schedule, job.training.epochs * steps_per_epoch()}, size()) {}

  std::size_t size() const override { return weights_.size(); }
  std::size_t parameter_count() const override { return size(); }
  const std::vector<models::Parameter>& parameters() const override { return parameters_; }
  std::int64_t steps_per_epoch() const override { return sampler_.steps_per_epoch(); }

  models::BatchResult compute(std::int64_t step, std::span<float> gradient, models::PhaseListener& listener) override {
    const std::span<const std::int64_t> share = sampler_.share(step, rank_);
    listener.phase_ended(models::ComputePhase::data);
    models::BatchResult batch{.samples = std::ssize(share)};
    std::vector<float> errors;
    for (const std::int64_t point : share) {
      errors.push_back(error_of(predicts_ ? predicted_ : weights_, point));
      batch.loss_sum += errors.back() * errors.back() / 2;
      batch.correct += std::abs(errors.back()) < 0.01F;
    }
    listener.phase_ended(models::ComputePhase::forward);
    gradient[0] = gradient[1] = 0;
    for (std::size_t i = 0; i < errors.size(); ++i) {
      gradient[0] += errors[i] * x_of(share[i]) / static_cast<float>(errors.size());
      gradient[1] += errors[i] / static_cast<float>(errors.size());
    }
    listener.phase_ended(models::ComputePhase::backward);
    return batch;
  }

  void advance(std::span<const models::StepGradient> updates, models::Prediction prediction,
               std::span<const models::StepGradient> in_flight) override {
    predicts_ = prediction != models::Prediction::none;
    optimizer_.advance(weights_, predicted_, updates, prediction, in_flight);
  }

  void adopt(std::span<const float> state) override {
    std::ranges::copy(state, weights_.begin());
    predicts_ = false;
  }

  models::Evaluation evaluate() override {
    const models::Share share = models::even_share(points, world_size_, rank_);
    models::Evaluation evaluation{.samples = share.count};
    for (std::int64_t point = share.first; point < share.first + share.count; ++point) {
      const float error = error_of(weights_, point);
      evaluation.loss_sum += error * error / 2;
      evaluation.correct += std::abs(error) < 0.01F;
    }
    return evaluation;
  }

  std::span<const float> weights() const override { return weights_; }

  std::vector<std::byte> save() const override {
    const auto weights = std::as_bytes(std::span(weights_));
    std::vector<std::byte> saved(weights.begin(), weights.end());
    const std::vector<std::byte> optimizer = optimizer_.save();
    saved.insert(saved.end(), optimizer.begin(), optimizer.end());
    return saved;
  }

  void load(std::span<const std::byte> saved) override {
    const auto weights = std::as_writable_bytes(std::span(weights_));
    if (saved.size() < weights.size()) throw std::runtime_error("saved line: too short");
    optimizer_.load(saved.subspan(weights.size()));
    std::memcpy(weights.data(), saved.data(), weights.size());
    predicts_ = false;
  }

 private:
  int rank_;
  int world_size_;
  std::vector<float> weights_ = {0, 0};
  std::vector<float> predicted_ = weights_;
  bool predicts_ = false;
  std::vector<models::Parameter> parameters_ = {{"slope", {}}, {"height", {}}};
  models::Sampler sampler_;
  models::FlatOptimizer optimizer_;
};

class Printer final : public actors::RunObserver {
 public:
  void on_progress(const actors::Progress&) override {}
  void on_test(const actors::TestResult& result) override { std::printf("test loss %g\n", result.loss); }
  void on_warning(const std::string& text) override { std::fprintf(stderr, "warning: %s\n", text.c_str()); }
};

constexpr const char* job_text = R"(
[run]
evaluate_epochs = false
[training]
workers = 4
batch = 50
epochs = 100
[topology]
name = "pipeline"
)";

}  // namespace

int main() {
  const config::Job job = config::parse_job(job_text, "line.toml");
  Printer observer;
  actors::LocalRun run(
      job, [job](int rank, int world_size) { return std::make_unique<LineReplica>(job, rank, world_size); }, observer);
  const actors::RunSummary summary = run.wait();
  std::printf("%lld steps, accuracy %g\n", static_cast<long long>(summary.steps), summary.test->accuracy);
  return summary.test->accuracy == 1 ? 0 : 1;
}
