#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <cstdint>

namespace tandem::models {

/// Initializes layers as PyTorch does by default, with a generator of its own: LibTorch's is one for all threads, so
/// there replicas that are made at once would draw from each other's sequence.
///
/// Owner only.
class Initializer {
 public:
  explicit Initializer(std::uint64_t seed);

  /// A linear layer or convolution with `weight` [outputs, inputs, ...]: uniform within 1 / sqrt(weight values an
  /// output). `bias` may be undefined.
  void initialize_affine(const at::Tensor& weight, const at::Tensor& bias);

 private:
  at::Generator generator_;
};

}  // namespace tandem::models
