#pragma once

#include <cstdint>
#include <memory>

#include "config/job.h"
#include "models/dataset.h"
#include "models/network.h"

namespace tandem::models {

/// The job's model for images of that shape. Throws std::runtime_error if it does not take them.
std::unique_ptr<Network> make_network(const config::Model& model, const ImageShape& shape, std::int64_t classes);

/// The fewest samples that the model can train on at once.
std::int64_t smallest_batch(const config::Model& model, const ImageShape& shape);

}  // namespace tandem::models
