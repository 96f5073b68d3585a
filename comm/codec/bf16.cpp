#include "comm/codec/kernels.h"

namespace tandem::comm::codec {
namespace {

// Not to be deduced by auto, which forgets the attributes.
using UnalignedCode [[gnu::aligned(1), gnu::may_alias]] = std::uint16_t;

/// The upper half of a float32, rounded.
[[gnu::always_inline]] inline std::uint32_t code_of(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t upper = bits >> 16;
  const std::uint32_t nearest = (bits + 0x7fff + (upper & 1)) >> 16;
  const std::uint32_t quiet = upper | 0x40;
  // Compared as signed numbers, which vector instructions can.
  const bool is_nan = static_cast<std::int32_t>(bits & magnitude_bits) > static_cast<std::int32_t>(exponent_bits);
  return is_nan ? quiet : nearest;
}

[[gnu::always_inline]] inline float value_of(std::uint32_t code) { return std::bit_cast<float>(code << 16); }

/// Has bit 15 set if the code's exponent, and so no finite number's, is all ones.
[[gnu::always_inline]] inline std::uint32_t carry_of(std::uint32_t code) { return (code & 0x7f80) + 0x0080; }

TANDEM_SIMD_CLONES bool encode_chunk(const float* values, std::size_t size, UnalignedCode* out) {
  std::uint32_t carries = 0;
#pragma GCC ivdep
  for (std::size_t i = 0; i < size; ++i) {
    const std::uint32_t code = code_of(values[i]);
    carries |= carry_of(code);
    out[i] = static_cast<std::uint16_t>(code);
  }
  return (carries & 0x8000) == 0;
}

TANDEM_SIMD_CLONES bool encode_chunk(const float* values, std::size_t size, const float* residual, float* new_residual,
                                     UnalignedCode* out) {
  std::uint32_t carries = 0;
#pragma GCC ivdep
  for (std::size_t i = 0; i < size; ++i) {
    const float owed = residual[i];
    const float wanted = values[i] + owed;
    const std::uint32_t code = code_of(wanted);
    const std::uint32_t carry = carry_of(code);
    carries |= carry;
    const float lost = wanted - value_of(code);
    new_residual[i] = (carry & 0x8000) == 0 ? lost : owed;
    out[i] = static_cast<std::uint16_t>(code);
  }
  return (carries & 0x8000) == 0;
}

TANDEM_SIMD_CLONES void decode_chunk(const UnalignedCode* in, std::size_t size, float* values) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < size; ++i) values[i] = value_of(in[i]);
}

TANDEM_SIMD_CLONES void add_chunk(const UnalignedCode* in, std::size_t size, float scale, float* sum) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < size; ++i) sum[i] += value_of(in[i]) * scale;
}

}  // namespace

bool encode_bf16(std::span<const float> values, std::byte* bytes) {
  const float* const in = values.data();
  UnalignedCode* const out = reinterpret_cast<UnalignedCode*>(bytes);
  bool finite = true;
  for_each_chunk(values.size(), [&](const Chunk& chunk) {
    fetch(in + chunk.end(), chunk.next_size);
    finite &= encode_chunk(in + chunk.begin, chunk.size, out + chunk.begin);
  });
  return finite;
}

bool encode_bf16(std::span<const float> values, const float* residual, float* new_residual, std::byte* bytes) {
  const float* const in = values.data();
  UnalignedCode* const out = reinterpret_cast<UnalignedCode*>(bytes);
  bool finite = true;
  for_each_chunk(values.size(), [&](const Chunk& chunk) {
    fetch(in + chunk.end(), chunk.next_size);
    fetch(residual + chunk.end(), chunk.next_size);
    finite &= encode_chunk(in + chunk.begin, chunk.size, residual + chunk.begin, new_residual + chunk.begin,
                           out + chunk.begin);
  });
  return finite;
}

void decode_bf16(const std::byte* bytes, std::span<float> values) {
  decode_chunk(reinterpret_cast<const UnalignedCode*>(bytes), values.size(), values.data());
}

void decode_add_bf16(const std::byte* bytes, float scale, std::span<float> sum) {
  const UnalignedCode* const in = reinterpret_cast<const UnalignedCode*>(bytes);
  for_each_chunk(sum.size(), [&](const Chunk& chunk) {
    fetch(in + chunk.end(), chunk.next_size);
    fetch(sum.data() + chunk.end(), chunk.next_size);
    add_chunk(in + chunk.begin, chunk.size, scale, sum.data() + chunk.begin);
  });
}

}  // namespace tandem::comm::codec
