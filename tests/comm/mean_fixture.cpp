#include "comm/mean_fixture.h"

#include <catch2/catch.hpp>
#include <cstring>

#include "comm/reference_mean.h"

namespace tandem::comm::test {

std::vector<Result> reduce(const Group& group, Step step, const Vectors& contributions, const Weights& weights) {
  std::vector<Result> results(group.size());
  run_ranks(group, [&](Communicator& end) {
    const std::size_t rank = index(end.rank());
    const Mean mean = end.all_reduce_mean({step, contributions[rank], weights[rank]});
    results[rank] = {mean, {mean.values.begin(), mean.values.end()}};
  });
  return results;
}

Vectors random_contributions(int ranks, std::size_t size, Step step) {
  Vectors contributions;
  for (int rank = 0; rank < ranks; ++rank) {
    contributions.push_back(random_values(size, Catch::rngSeed(), rank, step));
  }
  return contributions;
}

std::vector<Weights> weights_to_try(int ranks) {
  Weights equal(index(ranks), 32.0);
  Weights uneven(index(ranks));
  Weights some(index(ranks), 0.0);
  for (int rank = 0; rank < ranks; ++rank) {
    uneven[index(rank)] = 1 + 7 * rank % 5;
    if (rank % 3 == 1) some[index(rank)] = 1 + rank;
  }
  return {equal, uneven, some, Weights(index(ranks), 0.0)};
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

}  // namespace tandem::comm::test
