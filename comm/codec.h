#pragma once

#include <cstddef>
#include <span>

#include "config/job.h"

// How float32 vectors are put into bytes, and back.
//
// Layout of `count` encoded values; numbers of several bytes are little-endian, and nothing needs to be aligned
//   none   4 * count bytes: the values.
//   bf16   2 * count bytes: the upper halves of the values, rounded to the nearest, ties to even. A NaN stays a NaN, a
//          quiet one; what is infinite, or so large that it rounds to infinity, is infinite.
//   int8   blocks of int8_block values, the last one shorter. A block is its scale, a float32, and a signed byte for
//          each value: value = byte * scale, and no byte is -128. The scale is the largest magnitude of the block /
//          127, but no subnormal number; of a block of zeros it is 0. A block that holds a NaN or an infinity has a NaN
//          as its scale, so all of it decodes to NaN: what is not finite is never hidden.
//
// Every operation is rounded to float32 by itself (the build says -ffp-contract=off), so the bits do not depend on the
// processor.
//
// Pure functions on data of one's own: safe from any thread. `bytes` has exactly encoded_size() bytes, and spans of
// values that belong together have the same length. Spans do not overlap unless it says so.
namespace tandem::comm {

inline constexpr std::size_t int8_block = 1024;

std::size_t encoded_size(config::Codec codec, std::size_t count);

/// How far a value may come out of encoding and decoding from what went in, as a share of its own magnitude (bf16) or
/// of the largest magnitude in its block (int8), where that share is a normal number of float32.
double round_trip_error(config::Codec codec);

/// Returns whether all values are finite as encoded.
[[nodiscard]] bool encode(config::Codec codec, std::span<const float> values, std::span<std::byte> bytes);

/// Encodes values[i] + residual[i] and writes what was lost, to be added the next time, to new_residual[i]; `residual`
/// and `new_residual` may be one and the same. Returns whether all values are finite as encoded. Where they are not
/// (bf16: that value, int8: its block) nothing can be said of the loss, and the new residual is the old one. Without a
/// codec nothing is lost: both residuals are left alone, and may be empty.
[[nodiscard]] bool encode_with_feedback(config::Codec codec, std::span<const float> values,
                                        std::span<const float> residual, std::span<float> new_residual,
                                        std::span<std::byte> bytes);

void decode(config::Codec codec, std::span<const std::byte> bytes, std::span<float> values);

/// sum[i] += scale * value[i], the product rounded before it is added.
void decode_add(config::Codec codec, std::span<const std::byte> bytes, float scale, std::span<float> sum);

}  // namespace tandem::comm
