#include "comm/codec.h"

#include <algorithm>
#include <array>
#include <bit>
#include <catch2/catch.hpp>
#include <cfloat>
#include <cmath>
#include <limits>
#include <random>

#include "comm/reference_codec.h"
#include "comm/reference_mean.h"

namespace tandem::comm::test {
namespace {

using config::Codec;
using Values = std::vector<float>;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::byte kCanary{0xa5};
constexpr std::array<std::size_t, 15> kLengths = {0, 1, 2, 3, 7, 8, 31, 33, 1023, 1024, 1025, 2047, 2048, 2049, 5000};

std::uint32_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }

/// A NaN is as good as another; everything else is compared by bits.
bool same(const Values& a, const Values& b) {
  const auto same_value = [](float x, float y) { return bits(x) == bits(y) || (std::isnan(x) && std::isnan(y)); };
  return std::ranges::equal(a, b, same_value);
}

/// The encoded values lie at any address, and nothing is written beyond them.
struct Encoded {
  Encoded(Codec codec_used, std::size_t count)
      : codec(codec_used), size(count), memory(1 + encoded_size(codec_used, count) + 1, kCanary) {}

  std::span<std::byte> bytes() { return std::span(memory).subspan(1, memory.size() - 2); }
  bool canaries_live() const { return memory.front() == kCanary && memory.back() == kCanary; }
  Values decoded() {
    Values values(size, 42.0F);
    decode(codec, bytes(), values);
    return values;
  }

  Codec codec;
  std::size_t size;
  std::vector<std::byte> memory;
};

Values round_trip(Codec codec, const Values& values, bool expect_finite = true) {
  Encoded encoded(codec, values.size());
  REQUIRE(encode(codec, values, encoded.bytes()) == expect_finite);
  REQUIRE(encoded.canaries_live());
  return encoded.decoded();
}

/// Values of a few neighbouring powers of two somewhere between 2^-150, a subnormal number, and 2^120, and zeros.
Values wild_values(std::size_t size, std::mt19937& random) {
  const int spread = std::uniform_int_distribution(1, 40)(random);
  const int smallest = std::uniform_int_distribution(-150, 120 - spread)(random);
  std::uniform_int_distribution exponent(smallest, smallest + spread);
  std::uniform_real_distribution fraction(-1.0F, 1.0F);
  Values values(size);
  for (float& value : values) value = random() % 16 == 0 ? 0 : std::ldexp(fraction(random), exponent(random));
  return values;
}

float largest_magnitude(std::span<const float> values) {
  float largest = 0;
  for (const float value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

}  // namespace

TEST_CASE("encoded values take the bytes that the layout says") {
  REQUIRE(encoded_size(Codec::none, 5) == 20);
  REQUIRE(encoded_size(Codec::bf16, 5) == 10);
  REQUIRE(encoded_size(Codec::int8, 0) == 0);
  REQUIRE(encoded_size(Codec::int8, 1) == 5);
  REQUIRE(encoded_size(Codec::int8, 1024) == 1028);
  REQUIRE(encoded_size(Codec::int8, 1025) == 1033);
}

TEST_CASE("the layout of encoded values is as documented, byte for byte") {
  const auto encoded_bytes = [](Codec codec, const Values& values) {
    Encoded encoded(codec, values.size());
    REQUIRE(encode(codec, values, encoded.bytes()));
    std::vector<int> numbers;
    for (const std::byte byte : encoded.bytes()) numbers.push_back(std::to_integer<int>(byte));
    return numbers;
  };
  REQUIRE(encoded_bytes(Codec::none, {1.0F, -2.5F}) == std::vector{0, 0, 0x80, 0x3f, 0, 0, 0x20, 0xc0});
  REQUIRE(encoded_bytes(Codec::bf16, {1.0F, -2.5F}) == std::vector{0x80, 0x3f, 0x20, 0xc0});
  // The scale is 2, 0x40000000.
  REQUIRE(encoded_bytes(Codec::int8, {254, -254, 3, -1, 0}) == std::vector{0, 0, 0, 0x40, 127, 129, 2, 0, 0});
}

TEST_CASE("a round trip is the plain model's, bit for bit, whatever the values and the length") {
  const Codec codec = GENERATE(Codec::none, Codec::bf16, Codec::int8);
  std::mt19937 random(Catch::rngSeed());
  for (const std::size_t length : kLengths) {
    for (int round = 0; round < 20; ++round) {
      const Values values = wild_values(length, random);
      CAPTURE(name(codec), length, round, Catch::rngSeed());
      REQUIRE(same(round_trip(codec, values), reference_round_trip(codec, values)));
    }
  }
}

TEST_CASE("bf16 rounds every kind of number to the nearest, ties to even") {
  Values values;
  for (std::uint32_t upper = 0; upper < 0x10000; ++upper) {
    for (const std::uint32_t lower : {0x0000U, 0x0001U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU}) {
      values.push_back(std::bit_cast<float>(upper << 16 | lower));
    }
  }
  REQUIRE(same(round_trip(Codec::bf16, values, false), reference_round_trip(Codec::bf16, values)));
}

TEST_CASE("a value comes back within the error of one round trip, in every block") {
  const Codec codec = GENERATE(Codec::none, Codec::bf16, Codec::int8);
  std::mt19937 random(Catch::rngSeed());
  for (int round = 0; round < 200; ++round) {
    const Values values = wild_values(3000, random);
    const Values decoded = round_trip(codec, values);
    CAPTURE(name(codec), round, Catch::rngSeed());
    std::size_t far = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t block = i / int8_block * int8_block;
      const std::size_t end = std::min(block + int8_block, values.size());
      const float reference =
          codec == Codec::int8 ? largest_magnitude(std::span(values).subspan(block, end - block)) : std::abs(values[i]);
      // Below the normal numbers the steps no longer shrink with the values.
      const double allowed = round_trip_error(codec) * std::max<double>(reference, 127.0 * FLT_MIN);
      if (!(std::abs(static_cast<double>(decoded[i]) - values[i]) <= allowed)) ++far;
    }
    REQUIRE(far == 0);
  }
}

TEST_CASE("zeros stay zeros of no scale, beside other blocks too") {
  for (const std::size_t length : kLengths) {
    Values values(length, 0.0F);
    REQUIRE(round_trip(Codec::int8, values) == values);
    values.insert(values.end(), 4 * int8_block, -0.0F);
    values.back() = 1;
    REQUIRE(round_trip(Codec::int8, values) == values);
    REQUIRE(round_trip(Codec::bf16, values) == values);
  }
  Encoded encoded(Codec::int8, 3);
  REQUIRE(encode(Codec::int8, Values(3), encoded.bytes()));
  REQUIRE(std::ranges::count(encoded.bytes(), std::byte{0}) == 7);
}

TEST_CASE("blocks of one value, of subnormal and of the largest numbers come back finite") {
  const auto close = [](float a, float b) { return std::abs(a - b) <= 1e-6F * std::abs(b); };
  for (const float value : {1.0F, -3.7F, 1e-30F, -1e30F, FLT_MAX, -FLT_MAX, 200 * FLT_MIN}) {
    CAPTURE(value);
    REQUIRE(close(round_trip(Codec::int8, {value})[0], value));
  }
  const float tiny = std::numeric_limits<float>::denorm_min();
  for (const float value : {tiny, -tiny, 0.4F * FLT_MIN, -FLT_MIN, 60.25F * FLT_MIN}) {
    CAPTURE(value);
    REQUIRE(std::abs(round_trip(Codec::int8, {value, 0, -value})[0] - value) <= FLT_MIN / 2);
  }
  const Values largest = round_trip(Codec::int8, {FLT_MAX, -FLT_MAX, FLT_MAX / 2});
  REQUIRE(std::ranges::all_of(largest, [](float value) { return std::isfinite(value); }));
}

TEST_CASE("a value that is not finite is told and never hidden, wherever it lies") {
  const Codec codec = GENERATE(Codec::none, Codec::bf16, Codec::int8);
  const float signalling_nan = std::bit_cast<float>(0xff800001U);
  const float bad = GENERATE_COPY(as<float>{}, kNaN, kInfinity, -kInfinity, signalling_nan);
  for (const std::size_t position : {0U, 1U, 1023U, 1024U, 1030U, 2047U, 2048U, 2500U}) {
    CAPTURE(name(codec), bad, position);
    Values values(2501, 0.5F);
    values[position] = bad;
    const Values decoded = round_trip(codec, values, false);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const bool in_its_block = i / int8_block == position / int8_block;
      if (codec == Codec::int8 && in_its_block) {
        if (!std::isnan(decoded[i])) FAIL("value " << i << " of the block is " << decoded[i]);
      } else if (i == position) {
        REQUIRE((std::isnan(bad) ? std::isnan(decoded[i]) : decoded[i] == bad));
      } else if (std::abs(decoded[i] - 0.5F) > 1e-6F) {
        FAIL("value " << i << " is " << decoded[i]);
      }
    }
  }
}

TEST_CASE("a NaN stays a NaN in bf16 whatever its bits, and what rounds to infinity is not finite") {
  Values values;
  for (std::uint32_t payload = 1; payload < 0x800000; payload += payload < 0x20000 ? 1 : 977) {
    values.push_back(std::bit_cast<float>(0x7f800000U | payload));
  }
  REQUIRE(std::ranges::all_of(round_trip(Codec::bf16, values, false), [](float value) { return std::isnan(value); }));
  REQUIRE(round_trip(Codec::bf16, {-FLT_MAX}, false)[0] == -kInfinity);
}

TEST_CASE("decode_add adds the scaled values to what is there, bit for bit") {
  const Codec codec = GENERATE(Codec::none, Codec::bf16, Codec::int8);
  std::mt19937 random(Catch::rngSeed());
  for (const std::size_t length : kLengths) {
    CAPTURE(name(codec), length, Catch::rngSeed());
    const Values values = wild_values(length, random);
    const float scale = std::uniform_real_distribution(-2.0F, 2.0F)(random);
    Encoded encoded(codec, length);
    REQUIRE(encode(codec, values, encoded.bytes()));
    Values expected = random_values(length, Catch::rngSeed(), 0, 0);
    Values sum = expected;
    sum.push_back(42.0F);
    const Values decoded = encoded.decoded();
    for (std::size_t i = 0; i < length; ++i) {
      const float product = decoded[i] * scale;
      expected[i] += product;
    }
    decode_add(codec, encoded.bytes(), scale, std::span(sum).first(length));
    expected.push_back(42.0F);
    REQUIRE(same(sum, expected));
  }
}

TEST_CASE("encoding with feedback is the plain model's, bit for bit, with new residuals or in place") {
  const Codec codec = GENERATE(Codec::none, Codec::bf16, Codec::int8);
  std::mt19937 random(Catch::rngSeed());
  for (const std::size_t length : kLengths) {
    Values residual(length, 0.0F);
    Values in_place = residual;
    Values expected = residual;
    for (int step = 0; step < 10; ++step) {
      CAPTURE(name(codec), length, step, Catch::rngSeed());
      Values values = wild_values(length, random);
      const bool spoiled = step % 4 == 2 && length > 0;
      if (spoiled) values[random() % length] = random() % 2 == 0 ? kNaN : -kInfinity;
      const Values decoded = reference_round_trip(codec, values, expected);

      Encoded encoded(codec, length);
      Values next(length, 0.0F);
      REQUIRE(encode_with_feedback(codec, values, residual, next, encoded.bytes()) == !spoiled);
      REQUIRE(encoded.canaries_live());
      REQUIRE(same(encoded.decoded(), decoded));
      REQUIRE(same(next, expected));
      residual = next;

      REQUIRE(encode_with_feedback(codec, values, in_place, in_place, encoded.bytes()) == !spoiled);
      REQUIRE(same(encoded.decoded(), decoded));
      REQUIRE(same(in_place, expected));
    }
  }
}

TEST_CASE("without a codec there is no need of residuals") {
  const Values values = {1.5F, -2.25F, 1e-40F};
  Encoded encoded(Codec::none, values.size());
  REQUIRE(encode_with_feedback(Codec::none, values, {}, {}, encoded.bytes()));
  REQUIRE(same(encoded.decoded(), values));
}

TEST_CASE("a block that is not finite keeps its residual, and the other blocks get theirs") {
  Values values(3 * int8_block, 0.3F);
  values[1500] = kInfinity;
  values[0] = 1;
  const Values residual(values.size(), 0.001F);
  Values next(values.size(), 42.0F);
  Encoded encoded(Codec::int8, values.size());
  REQUIRE_FALSE(encode_with_feedback(Codec::int8, values, residual, next, encoded.bytes()));
  const auto block = [&](std::size_t number) { return std::span(next).subspan(number * int8_block, int8_block); };
  REQUIRE(std::ranges::all_of(block(1), [](float value) { return value == 0.001F; }));
  for (const std::size_t number : {0U, 2U}) {
    REQUIRE(std::ranges::none_of(block(number), [](float value) { return value == 0.001F || value == 42.0F; }));
  }
  REQUIRE_FALSE(encode_with_feedback(Codec::bf16, values, residual, next,
                                     std::span(Encoded(Codec::bf16, values.size()).bytes())));
  REQUIRE(next[1500] == 0.001F);
  REQUIRE(next[1499] != 0.001F);
}

TEST_CASE("over many steps what is decoded sums to what was encoded") {
  const Codec codec = GENERATE(Codec::bf16, Codec::int8);
  constexpr std::size_t kSize = 1500;
  constexpr int kSteps = 500;
  std::vector<double> given(kSize, 0.0);
  std::vector<double> arrived(kSize, 0.0);
  Values residual(kSize, 0.0F);
  float largest = 0;
  for (int step = 0; step < kSteps; ++step) {
    Values values = random_values(kSize, Catch::rngSeed(), 0, step);
    // Far below the step of quantization in every single step, and always of one sign.
    for (std::size_t i = 100; i < 200; ++i) values[i] = 1e-4F;
    Encoded encoded(codec, kSize);
    REQUIRE(encode_with_feedback(codec, values, residual, residual, encoded.bytes()));
    const Values decoded = encoded.decoded();
    for (std::size_t i = 0; i < kSize; ++i) given[i] += values[i];
    for (std::size_t i = 0; i < kSize; ++i) arrived[i] += decoded[i];
    largest = std::max(largest, largest_magnitude(decoded));
  }
  CAPTURE(name(codec), Catch::rngSeed());
  // What is owed last, and a float32 rounding of each sum and difference.
  const double owed = round_trip_error(codec) * largest;
  const double rounding = kSteps * 2 * FLT_EPSILON;
  REQUIRE(owed + rounding < 1e-4 * kSteps / 2);
  std::size_t far = 0;
  for (std::size_t i = 0; i < kSize; ++i) {
    far += std::abs(given[i] - arrived[i]) > owed + rounding ? 1 : 0;
    far += std::abs(given[i] - arrived[i] - residual[i]) > rounding ? 1 : 0;
  }
  REQUIRE(far == 0);
}

}  // namespace tandem::comm::test
