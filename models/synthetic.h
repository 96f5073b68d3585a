#pragma once

#include <cstdint>

#include "config/job.h"
#include "models/dataset.h"

namespace tandem::models {

/// Images that a model can learn to tell apart, of the shape and number that `data` says. Each class has a pattern of
/// its own, a wave over the image for each channel, and each image is its class's pattern under noise. The same data
/// and seed make the same images. Throws std::runtime_error, before it allocates, if they would take more than 8 GiB.
Dataset make_synthetic(const config::Data& data, std::uint64_t seed);

}  // namespace tandem::models
