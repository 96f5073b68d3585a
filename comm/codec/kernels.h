#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

// The loops of the codecs (comm/codec.h), one file a codec. Lengths are right; encoders return whether all is finite as
// encoded.
namespace tandem::comm::codec {

static_assert(std::endian::native == std::endian::little, "encoded values are copied as they lie in memory");

/// Values that the loops take at a time, so that before each time they can ask for what the next one reads. The
/// processor does so by itself, but only up to the end of a page, and of a vector larger than the caches every page is
/// new: asking made encoding and adding 1.2 times as fast.
inline constexpr std::size_t chunk_values = 1024;

/// Values begin, ..., begin + size - 1, before the next_size values of the next chunk.
struct Chunk {
  std::size_t begin = 0;
  std::size_t size = 0;
  std::size_t next_size = 0;

  std::size_t end() const { return begin + size; }
};

template <typename Visit>
void for_each_chunk(std::size_t size, const Visit& visit) {
  for (std::size_t begin = 0; begin < size; begin += chunk_values) {
    const std::size_t left = size - begin;
    const std::size_t here = std::min(chunk_values, left);
    visit(Chunk{.begin = begin, .size = here, .next_size = std::min(chunk_values, left - here)});
  }
}

/// Asks for memory that is read soon.
template <typename Value>
void fetch(const Value* values, std::size_t count) {
  constexpr std::size_t line = 64;
  const auto* const memory = reinterpret_cast<const char*>(values);
  for (std::size_t offset = 0; offset < count * sizeof(Value); offset += line) __builtin_prefetch(memory + offset);
}

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
