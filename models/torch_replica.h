#pragma once

#include "config/job.h"
#include "models/replica.h"

namespace tandem::models {

/// Makes replicas that compute with LibTorch. Reads the data set once, here; replicas share it read-only. Each replica
/// computes with `threads` threads, LibTorch's and BLAS's together.
///
/// Throws std::runtime_error for a data set that is missing (and says which package or download provides it), broken,
/// or of a shape that the model does not take.
ReplicaFactory make_torch_replicas(const config::Job& job, int threads);

}  // namespace tandem::models
