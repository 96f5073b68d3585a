#pragma once

#include "actors/run.h"

namespace tandem::actors {

/// Times of steps in which all workers of `job` only compute forward and backward, each on a thread of its own, all at
/// once, and exchange nothing: what a step would take if communication, updates and orchestration were free. Measures
/// until one worker has done `steps` steps. Throws what a replica throws.
scheduler::DurationHistogram compute_only(const config::Job& job, const models::ReplicaFactory& replicas,
                                          std::int64_t steps);

}  // namespace tandem::actors
