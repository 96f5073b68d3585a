#pragma once

#include <caf/all.hpp>

#include <memory>

#include "actors/gradient_slots.h"
#include "actors/local_ranks.h"
#include "config/job.h"
#include "scheduler/clock.h"

namespace tandem::actors {

struct ReducerOptions {
  int rank = 0;
  config::Job job;
  /// Of this process.
  std::shared_ptr<LocalRanks> ranks;
  std::shared_ptr<GradientSlots> slots;
  std::shared_ptr<const scheduler::Clock> clock;
  std::size_t spans_kept = 0;
  caf::actor driver;
};

/// The communication half of a worker: exchanges each gradient that its worker announces, in step order, in the way of
/// the job's topology, and answers when the update is there. Blocking; to be spawned detached. Ends with Stop, or with
/// Failed when an exchange fails.
void reducer(caf::blocking_actor* self, const ReducerOptions& options);

}  // namespace tandem::actors
