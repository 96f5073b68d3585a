#pragma once

#include <cstddef>
#include <span>

// The inner loop of every mean: pure functions on float32 vectors, safe from any thread.
namespace tandem::comm {

/// One rank's vector and what it is multiplied with.
struct Term {
  const float* values = nullptr;
  float scale = 0;
};

/// Writes sum[i] = terms[0].values[offset + i] * terms[0].scale + terms[1].values[offset + i] * terms[1].scale + ...,
/// added from left to right in float32, each product rounded, so that the bits depend neither on the processor nor on
/// how a vector is cut into calls; 0 if there are no terms. Every term has at least offset + sum.size() values, none of
/// which overlap with `sum`. Returns whether all sums are finite.
[[nodiscard]] bool weighted_sum(std::span<const Term> terms, std::size_t offset, std::span<float> sum);

/// Whether no value is NaN or infinite.
[[nodiscard]] bool all_finite(std::span<const float> values);

}  // namespace tandem::comm
