#include "comm/reference_codec.h"

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <limits>

namespace tandem::comm::test {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

/// Of the two numbers with a short significand on both sides of `value` the nearer one, or the even one.
float nearest_bf16(float value) {
  if (!std::isfinite(value)) return value;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto towards_zero = std::bit_cast<float>(bits & 0xffff0000);
  const auto away = std::bit_cast<float>((bits & 0xffff0000) + 0x10000);
  // Beyond the largest number of the format lies what would be the next.
  const double next = std::isfinite(away) ? away : std::copysign(std::ldexp(1.0, 128), value);
  const double below = std::abs(static_cast<double>(value) - towards_zero);
  const double above = std::abs(next - value);
  const bool is_even = (bits & 0x10000) == 0;
  return below < above || (below == above && is_even) ? towards_zero : away;
}

void round_to_bf16(std::span<float> values) {
  for (float& value : values) value = nearest_bf16(value);
}

void round_block_to_int8(std::span<float> block) {
  float largest = 0;
  for (const float value : block) {
    if (!std::isfinite(value)) return void(std::ranges::fill(block, kNaN));
    largest = std::max(largest, std::abs(value));
  }
  if (largest == 0) return void(std::ranges::fill(block, 0.0F));
  float scale = std::max(largest / 127, FLT_MIN);
  if (std::isinf(scale * 127)) scale = std::nextafter(scale, 0.0F);
  for (float& value : block) {
    const auto byte = static_cast<int>(std::nearbyint(value * (1 / scale)));
    value = static_cast<float>(byte) * scale;
  }
}

}  // namespace

std::vector<float> reference_round_trip(config::Codec codec, std::span<const float> values) {
  constexpr std::size_t kBlock = 1024;
  std::vector<float> result(values.begin(), values.end());
  if (codec == config::Codec::bf16) round_to_bf16(result);
  if (codec == config::Codec::int8) {
    for (std::size_t begin = 0; begin < result.size(); begin += kBlock) {
      round_block_to_int8(std::span(result).subspan(begin, std::min(kBlock, result.size() - begin)));
    }
  }
  return result;
}

std::vector<float> reference_round_trip(config::Codec codec, std::span<const float> values, std::span<float> residual) {
  if (codec == config::Codec::none) return {values.begin(), values.end()};
  std::vector<float> wanted(values.begin(), values.end());
  for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] += residual[i];
  std::vector<float> result = reference_round_trip(codec, wanted);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (std::isfinite(result[i])) residual[i] = wanted[i] - result[i];
  }
  return result;
}

}  // namespace tandem::comm::test
