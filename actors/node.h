#pragma once

#include <caf/all.hpp>

#include "actors/run.h"
#include "actors/thread_count.h"
#include "config/job.h"
#include "models/replica.h"

namespace tandem::actors {

struct NodeOptions {
  config::Job job;
  models::ReplicaFactory replicas;
  RunOptions run;
  /// Counts the threads of workers and reducers.
  std::shared_ptr<ThreadCount> threads;
};

/// One a host: spawns the workers and reducers of its host, holds the communicators that join them, and unblocks all of
/// them when the run is aborted. Never blocks.
caf::behavior node(caf::event_based_actor* self, NodeOptions options);

}  // namespace tandem::actors
