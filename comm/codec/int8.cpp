#include <algorithm>
#include <array>
#include <cfloat>
#include <cstring>
#include <limits>

#include "comm/codec.h"
#include "comm/codec/kernels.h"

// Blocks are worked on one at a time, in two passes: the largest magnitude, then the bytes. A block stays in the
// first-level cache in between.
namespace tandem::comm::codec {
namespace {

constexpr float kLargestByte = 127;

// The largest number whose product with the largest byte is finite; the largest of all / 127 rounds to the next one.
constexpr float kLargestScale = 0x1.020406p+121F;

// Adding 1.5 * 2^23 to a small number rounds it to an integer, ties to even, and leaves the integer in the low bits.
constexpr float kRounder = 12582912;

static_assert(chunk_values == int8_block);

/// Bytes that a block of `count` values takes.
constexpr std::size_t block_size(std::size_t count) { return sizeof(float) + count; }

/// All blocks before that of a chunk are whole.
template <typename Byte>
Byte* block_at(Byte* bytes, const Chunk& chunk) {
  return bytes + chunk.begin / int8_block * block_size(int8_block);
}

/// The bits of the largest magnitude among value(0), ..., value(count - 1); not less than exponent_bits if any of these
/// is not finite.
template <typename Value>
[[gnu::always_inline]] inline std::uint32_t largest_bits(std::size_t count, const Value& value) {
  std::int32_t largest = 0;  // signed, which vector instructions can compare
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) {
    largest = std::max(largest, static_cast<std::int32_t>(std::bit_cast<std::uint32_t>(value(i)) & magnitude_bits));
  }
  return static_cast<std::uint32_t>(largest);
}

/// The scale of a block, by the bits of its largest magnitude.
[[gnu::always_inline]] inline float scale_of(std::uint32_t largest) {
  if (largest >= exponent_bits) return std::numeric_limits<float>::quiet_NaN();
  if (largest == 0) return 0;
  return std::clamp(std::bit_cast<float>(largest) / kLargestByte, FLT_MIN, kLargestScale);
}

struct Block {
  const float* values;
  std::size_t count;
  std::byte* bytes;
};

/// Writes scale and bytes; calls lost(i, what) for each value.
template <typename Lost>
[[gnu::always_inline]] inline void write_block(const Block& block, float scale, const Lost& lost) {
  std::memcpy(block.bytes, &scale, sizeof(scale));
  const float* const in = block.values;
  auto* const out = reinterpret_cast<std::int8_t*>(block.bytes + sizeof(scale));
  const std::size_t count = block.count;
  const float per_scale = 1 / scale;
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) {
    const float shifted = in[i] * per_scale + kRounder;
    out[i] = static_cast<std::int8_t>(std::bit_cast<std::uint32_t>(shifted));
    lost(i, in[i] - (shifted - kRounder) * scale);
  }
}

/// A block of zeros, or one that is not finite.
[[gnu::always_inline]] inline void write_empty_block(const Block& block, float scale) {
  std::memcpy(block.bytes, &scale, sizeof(scale));
  std::memset(block.bytes + sizeof(scale), 0, block.count);
}

bool is_ordinary(float scale) { return scale > 0; }

TANDEM_SIMD_CLONES bool encode_block(const Block& block) {
  const float* const in = block.values;
  const std::uint32_t largest = largest_bits(block.count, [in](std::size_t i) { return in[i]; });
  const float scale = scale_of(largest);
  if (is_ordinary(scale)) {
    write_block(block, scale, [](std::size_t, float) {});
  } else {
    write_empty_block(block, scale);
  }
  return largest < exponent_bits;
}

TANDEM_SIMD_CLONES bool encode_block(const Block& block, const float* residual, float* new_residual) {
  alignas(64) std::array<float, int8_block> buffer;
  float* const wanted = buffer.data();
  const float* const in = block.values;
  const std::uint32_t largest =
      largest_bits(block.count, [=](std::size_t i) { return wanted[i] = in[i] + residual[i]; });
  const float scale = scale_of(largest);
  if (is_ordinary(scale)) {
    write_block({wanted, block.count, block.bytes}, scale,
                [new_residual](std::size_t i, float lost) { new_residual[i] = lost; });
    return true;
  }
  write_empty_block(block, scale);
  const bool finite = largest < exponent_bits;
  for (std::size_t i = 0; i < block.count; ++i) new_residual[i] = finite ? 0 : residual[i];
  return finite;
}

[[gnu::always_inline]] inline float read_scale(const std::byte* block) {
  float scale;
  std::memcpy(&scale, block, sizeof(scale));
  return scale;
}

TANDEM_SIMD_CLONES void decode_block(const std::byte* block, float* values, std::size_t count) {
  const float scale = read_scale(block);
  const auto* const in = reinterpret_cast<const std::int8_t*>(block + sizeof(scale));
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(in[i]) * scale;
}

TANDEM_SIMD_CLONES void decode_add_block(const std::byte* block, float factor, float* sum, std::size_t count) {
  const float scale = read_scale(block);
  const auto* const in = reinterpret_cast<const std::int8_t*>(block + sizeof(scale));
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) sum[i] += static_cast<float>(in[i]) * scale * factor;
}

}  // namespace

bool encode_int8(std::span<const float> values, std::byte* bytes) {
  const float* const in = values.data();
  bool finite = true;
  for_each_chunk(values.size(), [&](const Chunk& chunk) {
    fetch(in + chunk.end(), chunk.next_size);
    finite &= encode_block({in + chunk.begin, chunk.size, block_at(bytes, chunk)});
  });
  return finite;
}

bool encode_int8(std::span<const float> values, const float* residual, float* new_residual, std::byte* bytes) {
  const float* const in = values.data();
  bool finite = true;
  for_each_chunk(values.size(), [&](const Chunk& chunk) {
    fetch(in + chunk.end(), chunk.next_size);
    fetch(residual + chunk.end(), chunk.next_size);
    finite &= encode_block({in + chunk.begin, chunk.size, block_at(bytes, chunk)}, residual + chunk.begin,
                           new_residual + chunk.begin);
  });
  return finite;
}

void decode_int8(const std::byte* bytes, std::span<float> values) {
  for_each_chunk(values.size(), [&](const Chunk& chunk) {
    decode_block(block_at(bytes, chunk), values.data() + chunk.begin, chunk.size);
  });
}

void decode_add_int8(const std::byte* bytes, float scale, std::span<float> sum) {
  for_each_chunk(sum.size(), [&](const Chunk& chunk) {
    const std::byte* const block = block_at(bytes, chunk);
    fetch(block + block_size(chunk.size), chunk.next_size);
    fetch(sum.data() + chunk.end(), chunk.next_size);
    decode_add_block(block, scale, sum.data() + chunk.begin, chunk.size);
  });
}

}  // namespace tandem::comm::codec
