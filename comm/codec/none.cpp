#include <cstring>

#include "comm/codec/kernels.h"

namespace tandem::comm::codec {
namespace {

// Not to be deduced by auto, which forgets the attributes.
using UnalignedFloat [[gnu::aligned(1), gnu::may_alias]] = float;

}  // namespace

TANDEM_SIMD_CLONES bool encode_none(std::span<const float> values, std::byte* bytes) {
  const float* const in = values.data();
  const std::size_t size = values.size();
  UnalignedFloat* const out = reinterpret_cast<UnalignedFloat*>(bytes);
  std::uint32_t carries = 0;
#pragma GCC ivdep
  for (std::size_t i = 0; i < size; ++i) {
    // Only an exponent of all ones carries into the top bit.
    carries |= (std::bit_cast<std::uint32_t>(in[i]) & exponent_bits) + 0x00800000;
    out[i] = in[i];
  }
  return (carries >> 31) == 0;
}

void decode_none(const std::byte* bytes, std::span<float> values) {
  if (!values.empty()) std::memcpy(values.data(), bytes, values.size_bytes());
}

TANDEM_SIMD_CLONES void decode_add_none(const std::byte* bytes, float scale, std::span<float> sum) {
  const UnalignedFloat* const in = reinterpret_cast<const UnalignedFloat*>(bytes);
  float* const out = sum.data();
  const std::size_t size = sum.size();
#pragma GCC ivdep
  for (std::size_t i = 0; i < size; ++i) out[i] += in[i] * scale;
}

}  // namespace tandem::comm::codec
