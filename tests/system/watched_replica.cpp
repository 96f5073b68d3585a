#include "system/watched_replica.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

namespace tandem::test {
namespace {

class WatchedReplica final : public models::Replica, models::PhaseListener {
 public:
  WatchedReplica(std::unique_ptr<models::Replica> inner, std::shared_ptr<Watch> watch, int rank)
      : inner_(std::move(inner)), watch_(std::move(watch)), rank_(rank) {}

  std::size_t size() const override { return inner_->size(); }
  std::size_t parameter_count() const override { return inner_->parameter_count(); }
  const std::vector<models::Parameter>& parameters() const override { return inner_->parameters(); }
  std::int64_t steps_per_epoch() const override { return inner_->steps_per_epoch(); }

  models::BatchResult compute(std::int64_t step, std::span<float> gradient, models::PhaseListener& listener) override {
    listener_ = &listener;
    return inner_->compute(step, gradient, *this);
  }
  void advance(std::span<const models::StepGradient> updates, models::Prediction prediction,
               std::span<const models::StepGradient> in_flight) override {
    inner_->advance(updates, prediction, in_flight);
    if (!updates.empty()) watch_->saw_weights(rank_, inner_->weights());
  }
  void adopt(std::span<const float> state) override {
    inner_->adopt(state);
    watch_->saw_weights(rank_, state);
  }
  models::Evaluation evaluate() override { return inner_->evaluate(); }
  std::span<const float> weights() const override { return inner_->weights(); }
  std::vector<std::byte> save() const override { return inner_->save(); }
  void load(std::span<const std::byte> saved) override { inner_->load(saved); }

 private:
  void phase_ended(models::ComputePhase phase) override {
    watch_->count_threads();
    listener_->phase_ended(phase);
  }

  std::unique_ptr<models::Replica> inner_;
  std::shared_ptr<Watch> watch_;
  int rank_;
  models::PhaseListener* listener_ = nullptr;
};

}  // namespace

std::vector<std::size_t> Watch::fingerprints(int rank) const {
  const std::lock_guard lock(mutex_);
  return fingerprints_.at(rank);
}

std::vector<float> Watch::last_weights(int rank) const {
  const std::lock_guard lock(mutex_);
  return last_.at(rank);
}

int Watch::most_threads() const {
  const std::lock_guard lock(mutex_);
  return most_threads_;
}

void Watch::saw_weights(int rank, std::span<const float> weights) {
  const auto bytes = std::as_bytes(weights);
  const std::size_t fingerprint =
      std::hash<std::string_view>()({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  const std::lock_guard lock(mutex_);
  fingerprints_[rank].push_back(fingerprint);
  last_[rank].assign(weights.begin(), weights.end());
}

void Watch::count_threads() {
  const auto threads = static_cast<int>(std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}));
  const std::lock_guard lock(mutex_);
  most_threads_ = std::max(most_threads_, threads);
}

models::ReplicaFactory watched(models::ReplicaFactory replicas, std::shared_ptr<Watch> watch) {
  return [replicas = std::move(replicas), watch = std::move(watch)](int rank, int world_size) {
    return std::make_unique<WatchedReplica>(replicas(rank, world_size), watch, rank);
  };
}

}  // namespace tandem::test
