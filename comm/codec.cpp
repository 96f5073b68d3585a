#include "comm/codec.h"

#include <cassert>
#include <cmath>
#include <exception>

#include "comm/codec/kernels.h"

namespace tandem::comm {

using config::Codec;

std::size_t encoded_size(Codec codec, std::size_t count) {
  switch (codec) {
    case Codec::none:
      return count * sizeof(float);
    case Codec::bf16:
      return count * sizeof(std::uint16_t);
    case Codec::int8:
      return count + (count + int8_block - 1) / int8_block * sizeof(float);
  }
  std::terminate();
}

double round_trip_error(Codec codec) {
  switch (codec) {
    case Codec::none:
      return 0;
    case Codec::bf16:
      return std::ldexp(1.0, -8);
    case Codec::int8:
      return 1.0001 / 254;  // half a scale, and the float32 rounding of scale, quotient and product
  }
  std::terminate();
}

bool encode(Codec codec, std::span<const float> values, std::span<std::byte> bytes) {
  assert(bytes.size() == encoded_size(codec, values.size()));
  switch (codec) {
    case Codec::none:
      return codec::encode_none(values, bytes.data());
    case Codec::bf16:
      return codec::encode_bf16(values, bytes.data());
    case Codec::int8:
      return codec::encode_int8(values, bytes.data());
  }
  std::terminate();
}

bool encode_with_feedback(Codec codec, std::span<const float> values, std::span<const float> residual,
                          std::span<float> new_residual, std::span<std::byte> bytes) {
  if (codec == Codec::none) return encode(codec, values, bytes);
  assert(bytes.size() == encoded_size(codec, values.size()));
  assert(residual.size() == values.size() && new_residual.size() == values.size());
  if (codec == Codec::bf16) return codec::encode_bf16(values, residual.data(), new_residual.data(), bytes.data());
  return codec::encode_int8(values, residual.data(), new_residual.data(), bytes.data());
}

void decode(Codec codec, std::span<const std::byte> bytes, std::span<float> values) {
  assert(bytes.size() == encoded_size(codec, values.size()));
  switch (codec) {
    case Codec::none:
      return codec::decode_none(bytes.data(), values);
    case Codec::bf16:
      return codec::decode_bf16(bytes.data(), values);
    case Codec::int8:
      return codec::decode_int8(bytes.data(), values);
  }
  std::terminate();
}

void decode_add(Codec codec, std::span<const std::byte> bytes, float scale, std::span<float> sum) {
  assert(bytes.size() == encoded_size(codec, sum.size()));
  switch (codec) {
    case Codec::none:
      return codec::decode_add_none(bytes.data(), scale, sum);
    case Codec::bf16:
      return codec::decode_add_bf16(bytes.data(), scale, sum);
    case Codec::int8:
      return codec::decode_add_int8(bytes.data(), scale, sum);
  }
  std::terminate();
}

}  // namespace tandem::comm
