#include <algorithm>
#include <catch2/catch.hpp>
#include <cfloat>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "comm/mean_fixture.h"
#include "comm/reference_mean.h"

namespace tandem::comm::test {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// All ranks have the same bits, as close to `expected` as the implementation promises for contributions of up to
/// `magnitude`.
void require_mean(const std::vector<Result>& results, const std::vector<double>& expected, double magnitude) {
  const std::vector<float>& values = results.front().values;
  for (const Result& result : results) REQUIRE(same_bits(result.values, values));
  REQUIRE(values.size() == expected.size());
  const double allowed = mean_tolerance(static_cast<int>(results.size())) * FLT_EPSILON * magnitude;
  std::size_t near = 0;
  for (std::size_t i = 0; i < values.size(); ++i) near += std::abs(values[i] - expected[i]) <= allowed ? 1 : 0;
  REQUIRE(near == values.size());
}

void check_mean(const Group& group, Step step, std::size_t size, const Weights& weights) {
  CAPTURE(group.size(), step, size, weights, Catch::rngSeed());
  const Vectors contributions = random_contributions(static_cast<int>(group.size()), size, step);
  const std::vector<Result> results = reduce(group, step, contributions, weights);
  for (const Result& result : results) {
    REQUIRE(result.mean.step == step);
    REQUIRE(result.mean.weight == std::accumulate(weights.begin(), weights.end(), 0.0));
    REQUIRE(result.mean.finite);
    REQUIRE_FALSE(result.mean.non_finite_rank);
  }
  require_mean(results, exact_mean(contributions, weights), 1);
}

/// Positions of the values that are not finite, by rank.
struct Spoiled {
  int rank;
  std::size_t position;
  float value;
};

Mean reduce_spoiled(int ranks, std::size_t size, const std::vector<Spoiled>& spoils, Weights weights) {
  Vectors contributions = random_contributions(ranks, size, 0);
  for (const Spoiled& spoil : spoils) contributions[index(spoil.rank)][spoil.position] = spoil.value;
  const auto results = reduce(contributions, weights);
  for (const Result& result : results) {
    REQUIRE(result.mean.finite == results.front().mean.finite);
    REQUIRE(result.mean.non_finite_rank == results.front().mean.non_finite_rank);
  }
  return results.front().mean;
}

}  // namespace

TEST_CASE("every rank of every group gets the mean, in the same bits") {
  const int ranks = GENERATE(range(1, 17));
  const Group group = make_group({.size = ranks});
  Step step = 0;
  for (const std::size_t size : {0, 1, 2, 7, 33, 1001}) {
    for (const Weights& weights : weights_to_try(ranks)) check_mean(group, step++, size, weights);
  }
}

TEST_CASE("every rank gets the mean of large vectors, in the same bits") {
  const int ranks = GENERATE(1, 2, 3, 4, 5, 13);
  const Group group = make_group({.size = ranks});
  check_mean(group, 1, large_size(), weights_to_try(ranks)[1]);
}

TEST_CASE("the mean is over samples, not over ranks") {
  const auto results = reduce({{-1.0F}, {-5.0F}}, {3.0, 1.0});
  require_mean(results, {-2.0}, 5);
}

TEST_CASE("a rank of weight 0 is not read") {
  const auto results = reduce({{1.0F, 2.0F}, {kNaN, kInfinity}, {3.0F, 6.0F}}, {1.0, 0.0, 1.0});
  for (const Result& result : results) {
    REQUIRE(result.mean.finite);
    REQUIRE_FALSE(result.mean.non_finite_rank);
  }
  require_mean(results, {2.0, 4.0}, 6);
}

TEST_CASE("the mean is zero if all weights are") {
  const auto results = reduce({{1.0F, kNaN}, {3.0F, 4.0F}}, {0.0, 0.0});
  for (const Result& result : results) {
    REQUIRE(result.values == std::vector{0.0F, 0.0F});
    REQUIRE(result.mean.weight == 0);
    REQUIRE(result.mean.finite);
  }
}

TEST_CASE("a value that is not finite is found wherever it is, and its rank named") {
  const std::size_t size = large_size() / 10;
  const int ranks = GENERATE(1, 3, 5);
  const float value = GENERATE(as<float>{}, kNaN, kInfinity, -kInfinity);
  for (int rank = 0; rank < ranks; ++rank) {
    for (const std::size_t position : {std::size_t{0}, size / 2, size - 1}) {
      CAPTURE(ranks, rank, position, value);
      const Mean mean = reduce_spoiled(ranks, size, {{rank, position, value}}, Weights(index(ranks), 2.0));
      REQUIRE_FALSE(mean.finite);
      REQUIRE(mean.non_finite_rank == rank);
    }
  }
}

TEST_CASE("of several ranks that are not finite the lowest is named") {
  const std::size_t size = large_size() / 3;
  const std::vector<Spoiled> spoils = {{3, 0, kNaN}, {2, size / 2, kInfinity}, {1, size - 1, kNaN}};
  REQUIRE(reduce_spoiled(4, size, spoils, {1.0, 1.0, 1.0, 1.0}).non_finite_rank == 1);
  // Rank 1 is not read.
  REQUIRE(reduce_spoiled(4, size, spoils, {1.0, 0.0, 1.0, 1.0}).non_finite_rank == 2);
  // Opposite infinities sum to NaN.
  REQUIRE(reduce_spoiled(4, 10, {{3, 5, -kInfinity}, {2, 5, kInfinity}}, {1.0, 1.0, 1.0, 1.0}).non_finite_rank == 2);
}

TEST_CASE("a mean is finite again after one that was not") {
  const Group group = make_group({.size = 2});
  const auto spoiled = reduce(group, 0, {{kNaN}, {1.0F}}, {1.0, 1.0});
  const auto sound = reduce(group, 1, {{2.0F}, {4.0F}}, {1.0, 1.0});
  REQUIRE_FALSE(spoiled[1].mean.finite);
  REQUIRE(sound[1].mean.finite);
  REQUIRE_FALSE(sound[1].mean.non_finite_rank);
  require_mean(sound, {3.0}, 4);
}

TEST_CASE("a weight that is no number of samples is refused") {
  const Group group = make_group({.size = 1});
  const std::vector<float> values = {1.0F};
  for (const double weight : {-1.0, std::nan(""), HUGE_VAL}) {
    REQUIRE_THROWS_AS((void)group[0]->all_reduce_mean({0, values, weight}), std::invalid_argument);
  }
}

TEST_CASE("a mean stays as it is until its rank enters the results_kept-th next call, while others run ahead") {
  const int ranks = GENERATE(1, 2, 5);
  const int kept = GENERATE(1, 2, 3, 4);
  constexpr Step kSteps = 60;
  const Group group = make_group({.size = ranks, .results_kept = kept});
  std::vector<int> changed(index(ranks), 0);
  run_ranks(group, [&](Communicator& end) {
    std::mt19937 random(Catch::rngSeed() + static_cast<unsigned>(end.rank()));
    std::vector<Mean> means;
    for (Step step = 0; step < kSteps; ++step) {
      const std::vector<float> values(1 + static_cast<std::size_t>(step % 7) * 100, static_cast<float>(step));
      means.push_back(end.all_reduce_mean({step, values, 1.0}));
      if (means.size() > index(kept)) means.erase(means.begin());
      // Ranks look for different times at what they hold, so that they do not run in step.
      for (auto looks = random() % 20; looks > 0; --looks) {
        for (const Mean& mean : means) {
          // All ranks bring the step's number; its mean differs by rounding only.
          const auto is_own = [&](float value) { return std::abs(value - static_cast<float>(mean.step)) < 0.5F; };
          if (!std::ranges::all_of(mean.values, is_own)) {
            ++changed[index(end.rank())];
          }
        }
      }
    }
  });
  CAPTURE(ranks, kept, Catch::rngSeed());
  REQUIRE(changed == std::vector<int>(index(ranks), 0));
}

TEST_CASE("all ranks get the mean, in the same bits, in each of many calls of random size") {
  const int ranks = GENERATE(2, 3, 8);
  constexpr Step kSteps = 300;
  const Group group = make_group({.size = ranks, .results_kept = 2});
  std::vector<std::vector<Result>> results(kSteps, std::vector<Result>(index(ranks)));
  run_ranks(group, [&](Communicator& end) {
    std::mt19937 random(Catch::rngSeed());  // the same on all ranks
    for (Step step = 0; step < kSteps; ++step) {
      const std::size_t size = step % 50 == 0 ? random() % (large_size() / 5) : random() % 300;
      const auto values = random_values(size, Catch::rngSeed(), end.rank(), step);
      const Mean mean = end.all_reduce_mean({step, values, 1.0 + end.rank()});
      results[static_cast<std::size_t>(step)][index(end.rank())] = {mean, {mean.values.begin(), mean.values.end()}};
    }
  });
  CAPTURE(ranks, Catch::rngSeed());
  Weights weights(index(ranks));
  std::iota(weights.begin(), weights.end(), 1.0);
  for (Step step = 0; step < kSteps; ++step) {
    const std::vector<Result>& of_step = results[static_cast<std::size_t>(step)];
    const std::size_t size = of_step.front().values.size();
    require_mean(of_step, exact_mean(random_contributions(ranks, size, step), weights), 1);
  }
}

}  // namespace tandem::comm::test
