#include "models/torch_replica.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "models/cross_entropy.h"
#include "models/dataset.h"
#include "models/network.h"
#include "models/optimizer.h"
#include "models/sampler.h"
#include "models/zoo.h"

namespace tandem::models {
namespace {

/// Samples that evaluate() takes at once: enough to keep a core busy, few enough to bound the memory.
constexpr std::int64_t evaluation_batch = 250;

/// What save() writes, followed by the state vector and the optimizer's bytes.
struct SavedHeader {
  std::array<char, 8> magic = {'t', 'd', 'm', '-', 'r', 'e', 'p', '1'};
  std::uint64_t parameters = 0;
  std::uint64_t statistics = 0;

  bool operator==(const SavedHeader&) const = default;
};

class TorchReplica final : public Replica {
 public:
  TorchReplica(const config::Job& job, std::shared_ptr<const Dataset> dataset, int rank, int world_size)
      : dataset_(std::move(dataset)),
        rank_(rank),
        world_size_(world_size),
        sampler_({.seed = job.training.seed,
                  .samples = dataset_->train.samples(),
                  .world_size = world_size,
                  .batch = job.training.batch}),
        network_(make_network(job.model, dataset_->shape, dataset_->classes)),
        optimizer_(
            job.optimizer,
            LearningRate(job.optimizer, job.schedule, config::total_steps(job.training, sampler_.steps_per_epoch())),
            network_->parameter_count()),
        state_(network_->parameter_count() + network_->statistic_count()),
        batch_statistics_(network_->statistic_count()) {
    network_->initialize(job.training.seed, parameters_of(std::span(state_)), statistics_of(std::span(state_)));
  }

  std::size_t size() const override { return state_.size(); }
  std::size_t parameter_count() const override { return network_->parameter_count(); }
  const std::vector<Parameter>& parameters() const override { return network_->parameters(); }
  std::int64_t steps_per_epoch() const override { return sampler_.steps_per_epoch(); }

  BatchResult compute(std::int64_t step, std::span<float> gradient, PhaseListener& listener) override {
    const std::span<const std::int64_t> share = sampler_.share(step, rank_);
    gather_batch(dataset_->train, share);
    listener.phase_ended(ComputePhase::data);
    if (share.empty()) {
      listener.phase_ended(ComputePhase::forward);
      std::fill(gradient.begin(), gradient.end(), 0.0F);
      listener.phase_ended(ComputePhase::backward);
      return {};
    }
    const std::span<const float> statistics = statistics_of(weights());
    std::copy(statistics.begin(), statistics.end(), batch_statistics_.begin());
    const std::span<const float> used = predicts_ ? std::span<const float>(predicted_) : parameters_of(weights());
    const std::span<float> logits =
        network_->forward({.parameters = used, .statistics = batch_statistics_}, images(), Network::Mode::train);
    const BatchLoss loss = softmax_cross_entropy(logits, labels_);
    listener.phase_ended(ComputePhase::forward);
    network_->backward(logits, parameters_of(gradient));
    std::transform(batch_statistics_.begin(), batch_statistics_.end(), statistics.begin(),
                   statistics_of(gradient).begin(), std::minus<>());
    listener.phase_ended(ComputePhase::backward);
    return {.samples = std::ssize(labels_), .loss_sum = loss.loss_sum, .correct = loss.correct};
  }

  void advance(std::span<const StepGradient> updates, Prediction prediction,
               std::span<const StepGradient> in_flight) override {
    predicts_ = prediction != Prediction::none;
    if (predicts_) predicted_.resize(parameter_count());
    optimizer_.advance(parameters_of(std::span(state_)), predicted_, over_parameters(updates), prediction,
                       over_parameters(in_flight));
    const std::span<float> statistics = statistics_of(std::span(state_));
    for (const StepGradient& update : updates) {
      std::transform(statistics.begin(), statistics.end(), statistics_of(update.values).begin(), statistics.begin(),
                     std::plus<>());
    }
  }

  Evaluation evaluate() override {
    const Share share = even_share(dataset_->test.samples(), world_size_, rank_);
    std::vector<std::int64_t> indices(static_cast<std::size_t>(share.count));
    std::iota(indices.begin(), indices.end(), share.first);
    Evaluation evaluation{.samples = share.count};
    for (std::int64_t first = 0; first < share.count; first += evaluation_batch) {
      gather_batch(dataset_->test, std::span<const std::int64_t>(indices).subspan(
                                       static_cast<std::size_t>(first),
                                       static_cast<std::size_t>(std::min(evaluation_batch, share.count - first))));
      const std::span<float> logits = network_->forward(
          {.parameters = parameters_of(std::span(state_)), .statistics = statistics_of(std::span(state_))}, images(),
          Network::Mode::evaluate);
      const BatchLoss loss = softmax_cross_entropy(logits, labels_);
      evaluation.loss_sum += loss.loss_sum;
      evaluation.correct += loss.correct;
    }
    return evaluation;
  }

  std::span<const float> weights() const override { return state_; }

  std::vector<std::byte> save() const override {
    const SavedHeader header = make_header();
    const std::vector<std::byte> optimizer = optimizer_.save();
    std::vector<std::byte> saved;
    for (const std::span<const std::byte> part :
         {std::as_bytes(std::span(&header, 1)), std::as_bytes(weights()), std::span<const std::byte>(optimizer)}) {
      saved.insert(saved.end(), part.begin(), part.end());
    }
    return saved;
  }

  void load(std::span<const std::byte> saved) override {
    const std::size_t state_bytes = std::as_bytes(weights()).size();
    SavedHeader header;
    if (saved.size() < sizeof(header) + state_bytes) throw std::runtime_error("saved replica: too short");
    std::memcpy(&header, saved.data(), sizeof(header));
    if (header != make_header()) throw std::runtime_error("saved replica: not of this model");
    optimizer_.load(saved.subspan(sizeof(header) + state_bytes));
    std::memcpy(state_.data(), saved.data() + sizeof(header), state_bytes);
    predicts_ = false;
  }

 private:
  /// The two parts of a state vector.
  template <class Value>
  std::span<Value> parameters_of(std::span<Value> state) const {
    return state.first(network_->parameter_count());
  }
  template <class Value>
  std::span<Value> statistics_of(std::span<Value> state) const {
    return state.subspan(network_->parameter_count());
  }

  std::vector<StepGradient> over_parameters(std::span<const StepGradient> gradients) const {
    std::vector<StepGradient> parts(gradients.begin(), gradients.end());
    for (StepGradient& part : parts) part.values = parameters_of(part.values);
    return parts;
  }

  /// Makes the samples of `set` at `indices` the batch that images() and labels_ hold.
  void gather_batch(const ImageSet& set, std::span<const std::int64_t> indices) {
    images_.resize(indices.size() * dataset_->shape.size());
    labels_.resize(indices.size());
    gather(*dataset_, set, indices, images_, labels_);
  }

  Network::Images images() const { return {.samples = std::ssize(labels_), .values = images_}; }

  SavedHeader make_header() const {
    return {.parameters = network_->parameter_count(), .statistics = network_->statistic_count()};
  }

  std::shared_ptr<const Dataset> dataset_;
  int rank_;
  int world_size_;
  Sampler sampler_;
  std::unique_ptr<Network> network_;
  FlatOptimizer optimizer_;
  std::vector<float> state_;
  /// The parameters that compute() uses if predicts_; empty until the first prediction.
  std::vector<float> predicted_;
  bool predicts_ = false;
  /// The running statistics with the current batch in them.
  std::vector<float> batch_statistics_;
  std::vector<float> images_;
  std::vector<std::int32_t> labels_;
};

/// Throws std::runtime_error if some rank's share of some step is too small for the model.
void check_shares(const config::Job& job, const Dataset& dataset) {
  const std::int64_t smallest = smallest_batch(job.model, dataset.shape);
  const int workers = job.training.workers;
  const std::int64_t left = dataset.train.samples() % (workers * job.training.batch);
  const auto too_small = [smallest](std::int64_t share) { return share > 0 && share < smallest; };
  if (too_small(job.training.batch) || too_small(even_share(left, workers, 0).count) ||
      too_small(even_share(left, workers, workers - 1).count)) {
    throw std::runtime_error("model " + std::string(name(job.model.kind)) + " on images of " + text(dataset.shape) +
                             " pixels cannot train on fewer than " + std::to_string(smallest) +
                             " samples at once, but with this training.batch a worker gets fewer in some step");
  }
}

}  // namespace

ReplicaFactory make_torch_replicas(const config::Job& job, int threads) {
  auto dataset = std::make_shared<const Dataset>(load_dataset(job.data, job.training.seed));
  make_network(job.model, dataset->shape, dataset->classes);  // throws if the model does not take the data
  check_shares(job, *dataset);
  return [job, dataset, threads](int rank, int world_size) -> std::unique_ptr<Replica> {
    at::set_num_threads(threads);
    return std::make_unique<TorchReplica>(job, dataset, rank, world_size);
  };
}

}  // namespace tandem::models
