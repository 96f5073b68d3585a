#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

// The loops of the codecs (comm/codec.h), one file a codec. Lengths are right; encoders return whether all is finite as
// encoded.
namespace tandem::comm::codec {

static_assert(std::endian::native == std::endian::little, "encoded values are copied as they lie in memory");

inline constexpr std::uint32_t exponent_bits = 0x7f800000;
inline constexpr std::uint32_t magnitude_bits = 0x7fffffff;

bool encode_none(std::span<const float> values, std::byte* bytes);
void decode_none(const std::byte* bytes, std::span<float> values);
void decode_add_none(const std::byte* bytes, float scale, std::span<float> sum);

bool encode_bf16(std::span<const float> values, std::byte* bytes);
bool encode_bf16(std::span<const float> values, const float* residual, float* new_residual, std::byte* bytes);
void decode_bf16(const std::byte* bytes, std::span<float> values);
void decode_add_bf16(const std::byte* bytes, float scale, std::span<float> sum);

bool encode_int8(std::span<const float> values, std::byte* bytes);
bool encode_int8(std::span<const float> values, const float* residual, float* new_residual, std::byte* bytes);
void decode_int8(const std::byte* bytes, std::span<float> values);
void decode_add_int8(const std::byte* bytes, float scale, std::span<float> sum);

}  // namespace tandem::comm::codec
