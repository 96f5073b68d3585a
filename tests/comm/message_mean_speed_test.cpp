#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>

#include "comm/contract.h"
#include "comm/in_process.h"
#include "comm/mean_fixture.h"
#include "comm/message_mean.h"
#include "comm/peer_group_fixture.h"

namespace tandem::comm::test {
namespace {

using config::Algorithm;
using config::Codec;

/// Messages over a network, which is what they are for.
Group make_group(Algorithm algorithm) {
  if (algorithm == Algorithm::native) return make_in_process_group({.size = 4});
  Group group = make_peer_group({.size = 4});
  for (auto& end : group) {
    end = with_message_mean(std::move(end), {.algorithm = algorithm, .codec = Codec::int8});
  }
  return group;
}

/// How long it takes from the first rank's start to the last one's end to reduce `values` in so many calls, of equal
/// size.
double seconds(Communicator& end, std::span<const float> values, std::size_t calls) {
  const std::size_t size = values.size() / calls;
  end.barrier();
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t call = 0; call < calls; ++call) {
    (void)end.all_reduce_mean({0, values.subspan(call * size, size), 1.0});
  }
  end.barrier();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

TEST_CASE("1000 tensors of 1 KB are reduced at least 10 times faster as one than one by one") {
  constexpr std::size_t kTensors = 1000;
  constexpr std::size_t kValues = 256;
  const Algorithm algorithm = GENERATE(Algorithm::native, Algorithm::direct, Algorithm::ring);
  const Group group = make_group(algorithm);
  const Vectors contributions = random_contributions(4, kTensors * kValues, 0);
  std::vector<double> as_one;
  std::vector<double> one_by_one;
  run_ranks(group, [&](Communicator& end) {
    // In turn, so that a busy machine meets both.
    for (int round = 0; round < 9; ++round) {
      const double one = seconds(end, contributions[index(end.rank())], 1);
      const double many = seconds(end, contributions[index(end.rank())], kTensors);
      if (end.rank() != 0) continue;
      as_one.push_back(one);
      one_by_one.push_back(many);
    }
  });
  CAPTURE(name(algorithm), as_one, one_by_one);
  REQUIRE(median(one_by_one) >= 10 * median(as_one));
}

}  // namespace tandem::comm::test
