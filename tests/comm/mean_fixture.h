#pragma once

#include <vector>

#include "comm/contract.h"

// What the tests of all_reduce_mean share.
namespace tandem::comm::test {

using Vectors = std::vector<std::vector<float>>;  // by rank
using Weights = std::vector<double>;              // by rank

/// A Mean and a copy of its values.
struct Result {
  Mean mean;
  std::vector<float> values;
};

/// What every rank gets from one call.
std::vector<Result> reduce(const Group& group, Step step, const Vectors& contributions, const Weights& weights);

/// The same with a group of its own. Inline: not every program that reduces has a make_group().
inline std::vector<Result> reduce(const Vectors& contributions, const Weights& weights) {
  return reduce(make_group({.size = static_cast<int>(contributions.size())}), 0, contributions, weights);
}

/// Values between -1 and 1.
Vectors random_contributions(int ranks, std::size_t size, Step step);

/// Equal, uneven, zero for some and zero for all ranks.
std::vector<Weights> weights_to_try(int ranks);

bool same_bits(std::span<const float> a, std::span<const float> b);

}  // namespace tandem::comm::test
