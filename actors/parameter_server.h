#pragma once

#include <caf/all.hpp>

#include <memory>

#include "actors/local_ranks.h"
#include "config/job.h"
#include "scheduler/clock.h"

namespace tandem::actors {

struct ParameterServerOptions {
  /// Which part of the weights it holds, 0 to topology.servers - 1.
  int index = 0;
  config::Job job;
  /// Of this process. Servers come after the workers.
  std::shared_ptr<LocalRanks> ranks;
  std::shared_ptr<const scheduler::Clock> clock;
  std::size_t spans_kept = 0;
  caf::actor driver;
};

/// Holds a part of the weights and of the optimizer, takes the workers' gradients and answers with the weights.
///
/// Protocol, on `ranks` (comm/tags.h, comm/wire.h)
///   1. The driver's StartServing tells what the weights are like; worker 0 sends the server its part of the first.
///   2. A worker's requests come one at a time, each after the answer to the one before.
///   3. All workers together (config::is_synchronous): the answers to step t come when all gradients of step t have,
///      and one step was taken with their mean. The servers first tell each other what only they know of it.
///      One by one: a step is taken with each gradient as it comes; its answer may have to wait for slower workers
///      (scheduler::StalenessGate).
///   4. When all workers have asked for the last state they get it, and the server ends.
///
/// Where nobody waits for it, it waits as long as it takes. As soon as a worker waits for others, these must come
/// within the deadline of `ranks`: its error names those that did not. Of workers that wait for the last state, any
/// request of another within that time will do. Blocking; to be spawned detached.
void parameter_server(caf::blocking_actor* self, const ParameterServerOptions& options);

}  // namespace tandem::actors
