#include <cstring>

#include "comm/codec/kernels.h"

namespace tandem::comm::codec {
namespace {

// Not to be deduced by auto, which forgets the attributes.
using UnalignedFloat [[gnu::aligned(1), gnu::may_alias]] = float;

TANDEM_SIMD_CLONES bool encode_chunk(const float* values, std::size_t size, UnalignedFloat* out) {
  std::uint32_t carries = 0;
#pragma GCC ivdep
  for (std::size_t i = 0; i < size; ++i) {
    // Only an exponent of all ones carries into the top bit.
    carries |= (std::bit_cast<std::uint32_t>(values[i]) & exponent_bits) + 0x00800000;
    out[i] = values[i];
  }
  return (carries >> 31) == 0;
}

TANDEM_SIMD_CLONES void add_chunk(const UnalignedFloat* in, std::size_t size, float scale, float* sum) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < size; ++i) sum[i] += in[i] * scale;
}

}  // namespace

bool encode_none(std::span<const float> values, std::byte* bytes) {
  const float* const in = values.data();
  UnalignedFloat* const out = reinterpret_cast<UnalignedFloat*>(bytes);
  bool finite = true;
  for_each_chunk(values.size(), [&](const Chunk& chunk) {
    fetch(in + chunk.end(), chunk.next_size);
    finite &= encode_chunk(in + chunk.begin, chunk.size, out + chunk.begin);
  });
  return finite;
}

void decode_none(const std::byte* bytes, std::span<float> values) {
  if (!values.empty()) std::memcpy(values.data(), bytes, values.size_bytes());
}

void decode_add_none(const std::byte* bytes, float scale, std::span<float> sum) {
  const UnalignedFloat* const in = reinterpret_cast<const UnalignedFloat*>(bytes);
  for_each_chunk(sum.size(), [&](const Chunk& chunk) {
    fetch(in + chunk.end(), chunk.next_size);
    fetch(sum.data() + chunk.end(), chunk.next_size);
    add_chunk(in + chunk.begin, chunk.size, scale, sum.data() + chunk.begin);
  });
}

}  // namespace tandem::comm::codec
