#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/replica.h"

namespace tandem::models {

/// A classifier that computes on memory of its caller: on parameters and running statistics (BatchNorm) that lie in
/// flat vectors, in the order of parameters(), and of any number of samples a batch. This header includes no LibTorch.
///
/// Owner only. It computes with the calling thread's number of threads.
class Network {
 public:
  /// train: statistics of the batch, and backward() may follow. evaluate: the running statistics.
  enum class Mode { train, evaluate };

  struct Weights {
    std::span<const float> parameters;
    /// Mode::train moves these on by the batch; Mode::evaluate only reads them.
    std::span<float> statistics;
  };

  struct Images {
    std::int64_t samples = 0;
    /// `samples` images of the network's shape.
    std::span<const float> values;
  };

  virtual ~Network() = default;

  virtual const std::vector<Parameter>& parameters() const = 0;
  /// Values of all parameters together.
  virtual std::size_t parameter_count() const = 0;
  /// Values of all running statistics together.
  virtual std::size_t statistic_count() const = 0;

  /// Writes PyTorch's default initial values. They depend on the seed alone, whatever happens on other threads.
  virtual void initialize(std::uint64_t seed, std::span<float> parameters, std::span<float> statistics) = 0;

  /// The logits, a row of them for each sample. They are the network's own memory, which the caller may overwrite,
  /// valid until the next forward(). `weights` and `images` must stay as they are until backward() has returned.
  virtual std::span<float> forward(const Weights& weights, const Images& images, Mode mode) = 0;

  /// Writes the gradient with respect to the parameters (parameter_count() values) of the last forward(), which was in
  /// Mode::train. `logit_gradient` may be the memory that forward() returned.
  virtual void backward(std::span<float> logit_gradient, std::span<float> gradient) = 0;
};

}  // namespace tandem::models
