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
#include "models/flat_state.h"
#include "models/network.h"
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

/// A share of a step is computed in so many parts, of at most `size` samples and as even as possible.
int micro_batches(std::int64_t share, std::int64_t size) {
  return static_cast<int>(std::max<std::int64_t>(1, (share + size - 1) / size));
}

class TorchReplica final : public Replica {
 public:
  TorchReplica(const config::Job& job, std::shared_ptr<const Dataset> dataset, int rank, int world_size)
      : dataset_(std::move(dataset)),
        rank_(rank),
        world_size_(world_size),
        sampler_({.seed = job.training.seed,
                  .samples = dataset_->train.samples(),
                  .world_size = world_size,
                  .batch = job.training.batch * job.training.accumulate}),
        network_(make_network(job.model, dataset_->shape, dataset_->classes)),
        micro_batch_(job.training.batch),
        state_(job.optimizer,
               LearningRate(job.optimizer, job.schedule, config::total_steps(job.training, sampler_.steps_per_epoch())),
               network_->parameter_count(), network_->statistic_count()),
        batch_statistics_(network_->statistic_count()) {
    network_->initialize(job.training.seed, state_.parameters_of(state_.values()),
                         state_.statistics_of(state_.values()));
  }

  std::size_t size() const override { return weights().size(); }
  std::size_t parameter_count() const override { return network_->parameter_count(); }
  const std::vector<Parameter>& parameters() const override { return network_->parameters(); }
  std::int64_t steps_per_epoch() const override { return sampler_.steps_per_epoch(); }

  BatchResult compute(std::int64_t step, std::span<float> gradient, PhaseListener& listener) override {
    const std::span<const std::int64_t> share = sampler_.share(step, rank_);
    const std::span<const float> statistics = state_.statistics();
    std::copy(statistics.begin(), statistics.end(), batch_statistics_.begin());
    BatchResult result;
    const int parts = micro_batches(std::ssize(share), micro_batch_);
    for (int part = 0; part < parts; ++part) {
      const Share micro_batch = even_share(std::ssize(share), parts, part);
      accumulate(
          share.subspan(static_cast<std::size_t>(micro_batch.first), static_cast<std::size_t>(micro_batch.count)),
          state_.parameters_of(gradient), result, listener);
    }
    std::transform(batch_statistics_.begin(), batch_statistics_.end(), statistics.begin(),
                   state_.statistics_of(gradient).begin(), std::minus<>());
    return result;
  }

  void advance(std::span<const StepGradient> updates, Prediction prediction,
               std::span<const StepGradient> in_flight) override {
    state_.advance(updates, prediction, in_flight);
  }

  void adopt(std::span<const float> state) override { state_.adopt(state); }

  Evaluation evaluate() override {
    const Share share = even_share(dataset_->test.samples(), world_size_, rank_);
    std::vector<std::int64_t> indices(static_cast<std::size_t>(share.count));
    std::iota(indices.begin(), indices.end(), share.first);
    Evaluation evaluation{.samples = share.count};
    for (std::int64_t first = 0; first < share.count; first += evaluation_batch) {
      gather_batch(dataset_->test, std::span<const std::int64_t>(indices).subspan(
                                       static_cast<std::size_t>(first),
                                       static_cast<std::size_t>(std::min(evaluation_batch, share.count - first))));
      const std::span<float> logits =
          network_->forward({.parameters = state_.parameters(), .statistics = state_.statistics_of(state_.values())},
                            images(), Network::Mode::evaluate);
      const BatchLoss loss = softmax_cross_entropy(logits, labels_);
      evaluation.loss_sum += loss.loss_sum;
      evaluation.correct += loss.correct;
    }
    return evaluation;
  }

  std::span<const float> weights() const override { return state_.values(); }

  std::vector<std::byte> save() const override {
    const SavedHeader header = make_header();
    const std::vector<std::byte> optimizer = state_.optimizer().save();
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
    state_.optimizer().load(saved.subspan(sizeof(header) + state_bytes));
    std::vector<float> values(size());
    std::memcpy(values.data(), saved.data() + sizeof(header), state_bytes);
    state_.adopt(values);
  }

 private:
  /// Brings the samples at `indices` into `gradient`, the mean over those that `done` counts, and counts them too.
  void accumulate(std::span<const std::int64_t> indices, std::span<float> gradient, BatchResult& done,
                  PhaseListener& listener) {
    const bool first = done.samples == 0;
    if (!first) micro_gradient_.resize(gradient.size());
    const BatchResult result = compute_batch(indices, first ? gradient : std::span(micro_gradient_), listener);
    done.samples += result.samples;
    done.loss_sum += result.loss_sum;
    done.correct += result.correct;
    if (first) return;
    const auto share = static_cast<float>(static_cast<double>(result.samples) / static_cast<double>(done.samples));
    std::transform(gradient.begin(), gradient.end(), micro_gradient_.begin(), gradient.begin(),
                   [share](float mean, float value) { return mean + share * (value - mean); });
  }

  /// Forward and backward on the samples at `indices`; a gradient of zero if there are none.
  BatchResult compute_batch(std::span<const std::int64_t> indices, std::span<float> gradient, PhaseListener& listener) {
    gather_batch(dataset_->train, indices);
    listener.phase_ended(ComputePhase::data);
    if (indices.empty()) {
      listener.phase_ended(ComputePhase::forward);
      std::fill(gradient.begin(), gradient.end(), 0.0F);
      listener.phase_ended(ComputePhase::backward);
      return {};
    }
    const std::span<float> logits =
        network_->forward({.parameters = state_.parameters_of(state_.predicted()), .statistics = batch_statistics_},
                          images(), Network::Mode::train);
    const BatchLoss loss = softmax_cross_entropy(logits, labels_);
    listener.phase_ended(ComputePhase::forward);
    network_->backward(logits, gradient);
    listener.phase_ended(ComputePhase::backward);
    return {.samples = std::ssize(labels_), .loss_sum = loss.loss_sum, .correct = loss.correct};
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
  std::int64_t micro_batch_;
  FlatState state_;
  /// The running statistics with the current batch in them.
  std::vector<float> batch_statistics_;
  /// The gradient of a micro-batch but the first; empty until there is one.
  std::vector<float> micro_gradient_;
  std::vector<float> images_;
  std::vector<std::int32_t> labels_;
};

/// Throws std::runtime_error if some rank's share of some step, or a part of it, is too small for the model.
void check_shares(const config::Job& job, const Dataset& dataset) {
  const std::int64_t smallest = smallest_batch(job.model, dataset.shape);
  const config::Training& training = job.training;
  const std::int64_t left = dataset.train.samples() % (training.workers * training.batch * training.accumulate);
  const auto too_small = [&](std::int64_t share) {
    return share > 0 && share / micro_batches(share, training.batch) < smallest;
  };
  if (too_small(training.batch) || too_small(even_share(left, training.workers, 0).count) ||
      too_small(even_share(left, training.workers, training.workers - 1).count)) {
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
