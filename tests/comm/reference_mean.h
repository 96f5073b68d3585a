#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tandem::comm::test {

/// One value of a mean in float32, each product rounded and added in rank order, ranks of weight 0 left out; 0 if all
/// are.
float reference_mean(std::span<const std::vector<float>> contributions, std::span<const double> weights, std::size_t i);

/// All values of the mean in float64.
std::vector<double> exact_mean(std::span<const std::vector<float>> contributions, std::span<const double> weights);

/// `size` values between -1 and 1 that depend on all arguments.
std::vector<float> random_values(std::size_t size, std::uint64_t seed, int rank, std::int64_t step);

}  // namespace tandem::comm::test
