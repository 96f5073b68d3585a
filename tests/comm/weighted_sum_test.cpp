#include "comm/weighted_sum.h"

#include <bit>
#include <catch2/catch.hpp>
#include <cfloat>
#include <limits>

#include "comm/reference_mean.h"

namespace tandem::comm::test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<Term> terms_of(const std::vector<std::vector<float>>& vectors, float scale) {
  std::vector<Term> terms;
  for (const auto& vector : vectors) terms.push_back({vector.data(), scale});
  return terms;
}

}  // namespace

TEST_CASE("a weighted sum adds terms from left to right, whatever the number of terms and the offset") {
  const int count = GENERATE(range(1, 14));
  const std::size_t size = GENERATE(0U, 1U, 3U, 8U, 31U, 2048U, 5000U);
  const std::size_t offset = GENERATE(0U, 1U, 37U);
  CAPTURE(count, size, offset, Catch::rngSeed());
  std::vector<std::vector<float>> vectors;
  std::vector<double> weights;
  for (int rank = 0; rank < count; ++rank) {
    vectors.push_back(random_values(offset + size, Catch::rngSeed(), rank, 0));
    weights.push_back(rank + 1.0);
  }
  std::vector<Term> terms = terms_of(vectors, 0);
  for (std::size_t i = 0; i < terms.size(); ++i) {
    terms[i].scale = static_cast<float>(weights[i] / (count * (count + 1) / 2.0));
  }
  std::vector<float> sum(size + 1, 42.0F);
  REQUIRE(weighted_sum(terms, offset, std::span(sum).first(size)));
  REQUIRE(sum.back() == 42.0F);
  std::size_t different = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const float expected = reference_mean(vectors, weights, offset + i);
    if (std::bit_cast<std::uint32_t>(sum[i]) != std::bit_cast<std::uint32_t>(expected)) ++different;
  }
  REQUIRE(different == 0);
}

TEST_CASE("a weighted sum keeps the sign of zero, and is zero without terms") {
  const std::vector<std::vector<float>> vectors(1, std::vector<float>(9, -0.0F));
  std::vector<float> sum(9, 1.0F);
  REQUIRE(weighted_sum(terms_of(vectors, 1), 0, sum));
  for (const float value : sum) REQUIRE(std::bit_cast<std::uint32_t>(value) == 0x80000000U);
  REQUIRE(weighted_sum({}, 0, sum));
  for (const float value : sum) REQUIRE(std::bit_cast<std::uint32_t>(value) == 0U);
}

TEST_CASE("a weighted sum tells if any of its values is not finite") {
  const float bad = GENERATE(as<float>{}, kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN());
  const std::size_t count = GENERATE(1U, 4U, 5U);
  std::vector<std::vector<float>> vectors(count, std::vector<float>(4100, FLT_MAX));
  std::vector<float> sum(4100);
  for (const std::size_t position : {0U, 5U, 2047U, 2048U, 4099U}) {
    CAPTURE(bad, count, position);
    vectors.back()[position] = bad;
    REQUIRE_FALSE(all_finite(vectors.back()));
    REQUIRE_FALSE(weighted_sum(terms_of(vectors, 0.125F), 0, sum));
    vectors.back()[position] = FLT_MAX;
    REQUIRE(all_finite(vectors.back()));
    REQUIRE(weighted_sum(terms_of(vectors, 0.125F), 0, sum));
  }
}

}  // namespace tandem::comm::test
