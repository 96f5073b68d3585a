#include "tools/slowed_replica.h"

#include <chrono>
#include <thread>
#include <utility>

namespace tandem::tools {
namespace {

class SlowedReplica final : public models::Replica {
 public:
  SlowedReplica(std::unique_ptr<models::Replica> inner, double factor) : inner_(std::move(inner)), factor_(factor) {}

  std::size_t size() const override { return inner_->size(); }
  std::size_t parameter_count() const override { return inner_->parameter_count(); }
  const std::vector<models::Parameter>& parameters() const override { return inner_->parameters(); }
  std::int64_t steps_per_epoch() const override { return inner_->steps_per_epoch(); }

  models::BatchResult compute(std::int64_t step, std::span<float> gradient, models::PhaseListener& listener) override {
    const auto begin = std::chrono::steady_clock::now();
    const models::BatchResult result = inner_->compute(step, gradient, listener);
    std::this_thread::sleep_for((std::chrono::steady_clock::now() - begin) * (factor_ - 1));
    return result;
  }

  void advance(std::span<const models::StepGradient> updates, models::Prediction prediction,
               std::span<const models::StepGradient> in_flight) override {
    inner_->advance(updates, prediction, in_flight);
  }
  void adopt(std::span<const float> state) override { inner_->adopt(state); }
  models::Evaluation evaluate() override { return inner_->evaluate(); }
  std::span<const float> weights() const override { return inner_->weights(); }
  std::vector<std::byte> save() const override { return inner_->save(); }
  void load(std::span<const std::byte> saved) override { inner_->load(saved); }

 private:
  std::unique_ptr<models::Replica> inner_;
  double factor_;
};

}  // namespace

std::unique_ptr<models::Replica> slowed(std::unique_ptr<models::Replica> inner, double factor) {
  return std::make_unique<SlowedReplica>(std::move(inner), factor);
}

}  // namespace tandem::tools
