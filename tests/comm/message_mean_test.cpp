#include "comm/message_mean.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cfloat>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "comm/codec.h"
#include "comm/forwarding_communicator.h"
#include "comm/in_process.h"
#include "comm/mean_fixture.h"
#include "comm/reference_exchange.h"
#include "comm/reference_mean.h"

namespace tandem::comm::test {
namespace {

using config::Algorithm;
using config::Codec;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

Group make_message_group(int ranks, const MessageMeanOptions& options) {
  Group group = make_in_process_group({.size = ranks});
  for (auto& end : group) end = with_message_mean(std::move(end), options);
  return group;
}

std::string text(const MessageMeanOptions& options) {
  return std::string(name(options.algorithm)) + " " + name(options.codec) + ", segments of " +
         std::to_string(options.segment_values) + ", whole up to " + std::to_string(options.whole_values);
}

/// Each algorithm with each codec; direct for vectors that are short and for those that are not.
std::vector<MessageMeanOptions> every_kind(std::size_t segment_values = MessageMeanOptions().segment_values) {
  std::vector<MessageMeanOptions> kinds;
  for (const Codec codec : {Codec::none, Codec::bf16, Codec::int8}) {
    MessageMeanOptions options = {.codec = codec, .segment_values = segment_values, .whole_values = 0};
    kinds.push_back(options);
    options.algorithm = Algorithm::ring;
    kinds.push_back(options);
    options = {.codec = codec, .segment_values = 65536};
    kinds.push_back(options);
  }
  return kinds;
}

std::vector<float> mean_of(const std::vector<Result>& results) {
  for (const Result& result : results) REQUIRE(same_bits(result.values, results.front().values));
  return results.front().values;
}

/// A NaN is as good as another.
bool same(std::span<const float> a, std::span<const float> b) {
  return std::ranges::equal(a, b, [](float x, float y) {
    return (std::isnan(x) && std::isnan(y)) || (x == y && std::signbit(x) == std::signbit(y));
  });
}

}  // namespace

TEST_CASE("an exchange is the plain model's, bit for bit, over many calls of any kind") {
  const Algorithm algorithm = GENERATE(Algorithm::direct, Algorithm::ring);
  const Codec codec = GENERATE(Codec::none, Codec::bf16, Codec::int8);
  std::mt19937 random(Catch::rngSeed());
  const auto below = [&](std::size_t bound) {
    return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random);
  };
  for (int round = 0; round < 8; ++round) {
    const int ranks = 1 + static_cast<int>(below(6));
    const std::vector<std::size_t> segments = {1, 5, 64, 1024, 1500, 65536};
    const MessageMeanOptions options = {.algorithm = algorithm,
                                        .codec = codec,
                                        .segment_values = segments[below(6)],
                                        .whole_values = std::vector<std::size_t>{0, 1000, 32768}[below(3)]};
    const Group group = make_message_group(ranks, options);
    ReferenceExchange model(options, ranks);
    std::size_t size = below(50);
    for (Step step = 0; step < 40; ++step) {
      if (below(8) == 0) size = options.segment_values < 64 ? below(100) : below(4000);
      Vectors contributions = random_contributions(ranks, size, step);
      Weights weights(index(ranks));
      for (double& weight : weights) weight = below(4) == 0 ? 0.0 : 32.0 - static_cast<double>(below(3));
      if (below(6) == 0 && size > 0)
        contributions[below(index(ranks))][below(size)] = below(2) == 0 ? kNaN : -kInfinity;

      const ReferenceExchange::Outcome expected = model.reduce(contributions, weights);
      CAPTURE(text(options), ranks, round, step, size, weights, Catch::rngSeed());
      for (const Result& result : reduce(group, step, contributions, weights)) {
        REQUIRE(same(result.values, expected.mean));
        REQUIRE(result.mean.step == step);
        REQUIRE(result.mean.weight == std::accumulate(weights.begin(), weights.end(), 0.0));
        REQUIRE(result.mean.finite == expected.finite);
        REQUIRE(result.mean.non_finite_rank == expected.non_finite_rank);
      }
    }
  }
}

TEST_CASE("direct without a codec has the bits of the in-process mean, whatever the segments") {
  const int ranks = GENERATE(1, 2, 3, 5, 8);
  const std::size_t segment_values = GENERATE(as<std::size_t>{}, 1, 7, 100, 65536);
  const std::size_t whole_values = segment_values == 65536 ? 100'000 : 0;
  const Group group = make_message_group(ranks, {.segment_values = segment_values, .whole_values = whole_values});
  Step step = 0;
  for (const std::size_t size : {0, 1, 7, 33, 1001}) {
    for (const Weights& weights : weights_to_try(ranks)) {
      CAPTURE(ranks, size, segment_values, whole_values, weights, Catch::rngSeed());
      Vectors contributions = random_contributions(ranks, size, step);
      for (auto& values : contributions) {
        if (size > 0) values.back() = -0.0F;
      }
      std::vector<float> expected(size);
      for (std::size_t i = 0; i < size; ++i) expected[i] = reference_mean(contributions, weights, i);
      REQUIRE(same_bits(mean_of(reduce(group, step++, contributions, weights)), expected));
    }
  }
}

TEST_CASE("means are within their bound of the exact ones, and use much of it only with a codec") {
  const int ranks = GENERATE(2, 3, 7);
  for (const MessageMeanOptions& options : every_kind()) {
    const Group group = make_message_group(ranks, options);
    const double bound = mean_error_bound(options.algorithm, options.codec, ranks);
    double largest = 0;
    for (Step step = 0; step < 20; ++step) {
      const Vectors contributions = random_contributions(ranks, 3000, step);
      const Weights weights(index(ranks), 8.0);
      const std::vector<float> mean = mean_of(reduce(group, step, contributions, weights));
      const std::vector<double> exact = exact_mean(contributions, weights);
      for (std::size_t i = 0; i < mean.size(); ++i) largest = std::max(largest, std::abs(mean[i] - exact[i]));
    }
    CAPTURE(text(options), ranks, bound, Catch::rngSeed());
    REQUIRE(largest <= bound);
    REQUIRE(largest >= bound / 100);
  }
}

TEST_CASE("over many steps means sum to the exact ones, although shares change and ranks drop out") {
  constexpr int kRanks = 3;
  constexpr std::size_t kSize = 1200;
  constexpr Step kSteps = 500;
  for (const MessageMeanOptions& options : every_kind()) {
    const Group group = make_message_group(kRanks, options);
    std::mt19937 random(Catch::rngSeed());
    std::vector<double> difference(kSize, 0.0);
    for (Step step = 0; step < kSteps; ++step) {
      Vectors contributions = random_contributions(kRanks, kSize, step);
      for (auto& values : contributions) {
        // Far below a step of quantization, and always of one sign: lost for ever without feedback.
        for (std::size_t i = 0; i < kSize; i += 10) values[i] = 4e-4F;
      }
      Weights weights = {16.0 + 2 * (random() % 3), 16.0 + 2 * (random() % 3), 16.0 + 2 * (random() % 3)};
      if (random() % 10 == 0) weights[random() % kRanks] = 0;
      const std::vector<float> mean = mean_of(reduce(group, step, contributions, weights));
      const std::vector<double> exact = exact_mean(contributions, weights);
      for (std::size_t i = 0; i < kSize; ++i) difference[i] += mean[i] - exact[i];
    }
    double largest = 0;
    for (const double value : difference) largest = std::max(largest, std::abs(value));
    CAPTURE(text(options), Catch::rngSeed());
    // What is owed in the end, more of it after a change of shares, and float32 roundings of every step.
    const double owed = 2 * mean_error_bound(options.algorithm, options.codec, kRanks);
    const double rounding = static_cast<double>(kSteps) * 3 * kRanks * FLT_EPSILON;
    REQUIRE(largest <= owed + rounding);
    REQUIRE(owed + rounding < 4e-4 * static_cast<double>(kSteps) / 2);
  }
}

TEST_CASE("shares that swing wildly do not make errors grow") {
  for (const MessageMeanOptions& options : every_kind()) {
    const Group group = make_message_group(2, options);
    double largest = 0;
    for (Step step = 0; step < 100; ++step) {
      const Vectors contributions = random_contributions(2, 2000, step);
      const Weights weights = step % 2 == 0 ? Weights{64, 1} : Weights{1, 64};
      const std::vector<float> mean = mean_of(reduce(group, step, contributions, weights));
      const std::vector<double> exact = exact_mean(contributions, weights);
      for (std::size_t i = 0; i < mean.size(); ++i) largest = std::max(largest, std::abs(mean[i] - exact[i]));
    }
    CAPTURE(text(options), largest, Catch::rngSeed());
    REQUIRE(largest <= 3 * mean_error_bound(options.algorithm, options.codec, 2));
  }
}

TEST_CASE("a step with a NaN is told to all ranks, and is for the steps after it as if it had never been") {
  constexpr int kRanks = 3;
  constexpr Step kBad = 7;
  const std::size_t position = GENERATE(as<std::size_t>{}, 0, 1500, 3499);
  for (const MessageMeanOptions& options : every_kind(1024)) {
    const Group with = make_message_group(kRanks, options);
    const Group without = make_message_group(kRanks, options);
    for (Step step = 0; step < 14; ++step) {
      CAPTURE(text(options), step, position, Catch::rngSeed());
      Vectors contributions = random_contributions(kRanks, 3500, step);
      // Shares change too, that none of this is remembered either.
      const Weights weights = {8, step == kBad ? 2.0 : 8.0, 8};
      if (step == kBad) {
        contributions[1][position] = kNaN;
        for (const Result& result : reduce(with, step, contributions, weights)) {
          REQUIRE_FALSE(result.mean.finite);
          REQUIRE(result.mean.non_finite_rank == 1);
        }
        continue;
      }
      const std::vector<Result> results = reduce(with, step, contributions, weights);
      for (const Result& result : results) REQUIRE(result.mean.finite);
      REQUIRE(same_bits(mean_of(results), mean_of(reduce(without, step, contributions, weights))));
    }
  }
}

TEST_CASE("a mean that overflows is not finite though all contributions are, and no rank is named") {
  const auto require_overflow = [](const MessageMeanOptions& options, const Weights& weights) {
    CAPTURE(text(options));
    const int ranks = static_cast<int>(weights.size());
    const Vectors contributions(weights.size(), std::vector<float>{FLT_MAX});
    for (const Result& result : reduce(make_message_group(ranks, options), 0, contributions, weights)) {
      REQUIRE_FALSE(result.mean.finite);
      REQUIRE_FALSE(result.mean.non_finite_rank);
    }
  };
  // The rounding of the shares carries the sum too far.
  require_overflow({.algorithm = Algorithm::direct, .codec = Codec::none}, {1, 2, 3, 4, 5, 6, 7});
  // What is encoded overflows, by rounding.
  require_overflow({.algorithm = Algorithm::direct, .codec = Codec::bf16}, {0, 0, 1});
  require_overflow({.algorithm = Algorithm::ring, .codec = Codec::bf16}, {0, 0, 1});
}

TEST_CASE("rows of an embedding that never occur stay exactly zero, and so does what is owed to them") {
  constexpr std::size_t kColumns = 64;
  constexpr std::size_t kRows = 20;
  const auto is_unused = [](std::size_t i) { return i / kColumns >= 5 && i / kColumns <= 9; };
  for (const MessageMeanOptions& options : every_kind(300)) {
    const Group group = make_message_group(3, options);
    std::size_t used = 0;
    std::size_t unused = 0;
    for (Step step = 0; step < 60; ++step) {
      Vectors contributions = random_contributions(3, kRows * kColumns, step);
      for (auto& values : contributions) {
        for (std::size_t i = 0; i < values.size(); ++i) {
          // In the last steps nothing comes but what was owed.
          if (is_unused(i) || step >= 50) values[i] = 0;
        }
      }
      const std::vector<float> mean = mean_of(reduce(group, step, contributions, {8, 4, 8}));
      for (std::size_t i = 0; i < mean.size(); ++i) {
        if (mean[i] == 0) continue;
        if (is_unused(i)) ++unused;
        if (!is_unused(i) && step >= 50) ++used;
      }
    }
    CAPTURE(text(options), Catch::rngSeed());
    REQUIRE(unused == 0);
    REQUIRE((used > 0) == (options.codec != Codec::none));
  }
}

}  // namespace tandem::comm::test
