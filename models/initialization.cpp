#include "models/initialization.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

namespace tandem::models {

Initializer::Initializer(std::uint64_t seed) : generator_(at::detail::createCPUGenerator(seed)) {}

void Initializer::initialize_affine(const at::Tensor& weight, const at::Tensor& bias) {
  const at::NoGradGuard no_gradient;
  const auto inputs = static_cast<double>(weight.numel() / weight.size(0));
  const double bound = 1 / std::sqrt(inputs);
  weight.uniform_(-bound, bound, generator_);
  if (bias.defined()) bias.uniform_(-bound, bound, generator_);
}

}  // namespace tandem::models
