#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "config/job.h"

// The codecs of comm/codec.h as plain arithmetic, a value at a time.
namespace tandem::comm::test {

/// What decodes from the encoded `values`.
std::vector<float> reference_round_trip(config::Codec codec, std::span<const float> values);

/// The same for values[i] + residual[i]; `residual` becomes what is lost.
std::vector<float> reference_round_trip(config::Codec codec, std::span<const float> values, std::span<float> residual);

}  // namespace tandem::comm::test
