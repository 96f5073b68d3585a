#pragma once

#include <caf/all.hpp>

#include <future>
#include <memory>

#include "actors/run.h"
#include "config/job.h"

namespace tandem::actors {

/// How a run ended: its figures, and what went wrong if anything did.
struct Outcome {
  RunSummary summary;
  std::optional<std::string> failure;
  bool stuck = false;
};

struct DriverOptions {
  config::Job job;
  RunOptions run;
  RunObserver& observer;
  /// How many nodes are waited for.
  int nodes = 1;
  /// Whether they are other processes, which read the job for themselves.
  bool remote = false;
  /// Is set once, when the run has ended.
  std::shared_ptr<std::promise<Outcome>> outcome;
};

/// The one who leads a run, from Begin on; other messages wait for that. Waits for the nodes, starts the workers on
/// them, extends their permits, audits the width, gathers timings and decides about the end. Never blocks.
caf::behavior driver(caf::event_based_actor* self, DriverOptions options);

}  // namespace tandem::actors
