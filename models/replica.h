#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

// The seam to whatever computes gradients. This header includes no LibTorch.
//
// A replica is one worker's model, optimizer and share of the data. Its *state vector* of size() float32 values holds
// all parameters in the order of parameters(), then the model's running statistics (BatchNorm) if it has any. Gradients
// and updates are vectors of that size too: over the parameters they hold derivatives, over the statistics the change
// that this batch made. So one exchange keeps replicas equal in both.
//
// Two sets of weights matter:
//   - the true weights, which apply the same updates in the same order on every worker and so hold the same bits;
//   - the weights that compute() uses, which are the true ones unless advance() predicted others.
//
// Threads: constructed and used on one thread, the worker's. Errors: std::exception with a message for the user.
namespace tandem::models {

struct Parameter {
  std::string name;
  std::vector<std::int64_t> shape;
};

/// What one worker computed on its share of one global batch.
struct BatchResult {
  /// Samples in this worker's share; 0 where the global batch ran out. The gradient's weight in the mean.
  std::int64_t samples = 0;
  /// Sum over these samples, not the mean.
  double loss_sum = 0;
  std::int64_t correct = 0;
};

struct Evaluation {
  std::int64_t samples = 0;
  double loss_sum = 0;
  std::int64_t correct = 0;
};

enum class ComputePhase { data, forward, backward };

/// Is told when a phase of compute() ends, in the order of ComputePhase, and again in that order for each further
/// micro-batch; the first begins with the call.
class PhaseListener {
 public:
  virtual ~PhaseListener() = default;
  virtual void phase_ended(ComputePhase phase) = 0;
};

/// A gradient of one step: the mean over the global batch, or one worker's own.
struct StepGradient {
  std::int64_t step = 0;
  std::span<const float> values;
  /// The part of the learning rate that it takes: 1, or its share of the global batch where gradients are applied one
  /// by one instead of their mean. Of running statistics, the part of the change.
  double rate_share = 1;
  /// Sum of squares that clipping goes by, where `values` are only a part of the gradient; unset: that of `values`.
  std::optional<double> squared_norm = std::nullopt;
};

/// How advance() predicts the parameters that the next compute() uses, from the true ones.
enum class Prediction {
  none,      ///< the true parameters
  momentum,  ///< moved on by the optimizer's velocity alone (lr * momentum * v), once for each step in flight
  local,     ///< moved on by the optimizer's steps with this worker's own gradients in flight
};

class Replica {
 public:
  virtual ~Replica() = default;

  /// Length of the state vector and of every gradient.
  virtual std::size_t size() const = 0;
  /// Trainable parameters among it.
  virtual std::size_t parameter_count() const = 0;
  virtual const std::vector<Parameter>& parameters() const = 0;
  /// Steps in an epoch: ceil(training samples / global batch), the same on every rank.
  virtual std::int64_t steps_per_epoch() const = 0;

  /// Forward and backward on this worker's share of step `step`; writes the mean gradient over the share's samples
  /// into `gradient` (size() values; all zero if the share is empty).
  virtual BatchResult compute(std::int64_t step, std::span<float> gradient, PhaseListener& listener) = 0;

  /// Applies `updates`, mean gradients in step order, to the true weights and optimizer state; then predicts the
  /// parameters for the next compute() from the gradients in flight, in step order. A prediction by own gradients
  /// leaves out those that are not finite, as their updates will be. Running statistics are not predicted: they follow
  /// with the delay of the steps in flight. They do not enter compute(), which normalizes by the batch's own.
  virtual void advance(std::span<const StepGradient> updates, Prediction prediction,
                       std::span<const StepGradient> in_flight) = 0;

  /// Instead of advance(), where a parameter server applies the updates: makes `state` (size() values) the true state
  /// vector, and the one that the next compute() uses. The optimizer is not used.
  virtual void adopt(std::span<const float> state) = 0;

  /// Evaluates the true weights on this worker's share of the test set; the shares are disjoint and cover it.
  virtual Evaluation evaluate() = 0;

  /// The true state vector; valid until the next advance(), adopt() or load().
  virtual std::span<const float> weights() const = 0;

  /// Weights, optimizer state and the number of updates applied, as bytes that load() of a replica of the same
  /// configuration takes.
  virtual std::vector<std::byte> save() const = 0;
  virtual void load(std::span<const std::byte> saved) = 0;
};

/// Makes the replica of one rank; called on the worker's own thread.
using ReplicaFactory = std::function<std::unique_ptr<Replica>(int rank, int world_size)>;

}  // namespace tandem::models
