#include "models/initialization.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

namespace tandem::models {
namespace {

/// Splitmix64's finalizer: each bit of the result depends on all of `bits`.
std::uint64_t mixed(std::uint64_t bits) {
  bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ bits >> 27) * 0x94d049bb133111eb;
  return bits ^ bits >> 31;
}

}  // namespace

// ATen's generator keeps only the lower half of its seed.
Initializer::Initializer(std::uint64_t seed) : generator_(at::detail::createCPUGenerator(mixed(seed))) {}

void Initializer::initialize_affine(const at::Tensor& weight, const at::Tensor& bias) {
  const at::NoGradGuard no_gradient;
  const auto inputs = static_cast<double>(weight.numel() / weight.size(0));
  const double bound = 1 / std::sqrt(inputs);
  weight.uniform_(-bound, bound, generator_);
  if (bias.defined()) bias.uniform_(-bound, bound, generator_);
}

}  // namespace tandem::models
