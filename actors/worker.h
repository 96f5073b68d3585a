#pragma once

#include <caf/all.hpp>

#include <memory>

#include "actors/gradient_slots.h"
#include "models/replica.h"
#include "scheduler/clock.h"

namespace tandem::actors {

struct WorkerOptions {
  int rank = 0;
  int world_size = 1;
  /// The largest width that a permit may hold; the number of slots.
  int width = 1;
  /// Of the worker's own optimizer.
  models::Prediction prediction = models::Prediction::none;
  /// Whether parameter servers have the optimizer, so that updates are weights to adopt.
  bool adopts = false;
  /// Whether an interrupted run ends at once, wherever the worker is; else at the last step that all are permitted.
  bool ends_apart = false;
  /// Whether it is this worker that brings them the initial state.
  bool brings_state = false;
  /// Whether these weights may be predicted ones, which are not to be evaluated.
  bool pulls_to_evaluate = false;
  /// Whether to evaluate after each epoch, and at the end.
  bool evaluate_epochs = true;
  bool evaluate_end = true;
  models::ReplicaFactory replicas;
  std::shared_ptr<GradientSlots> slots;
  std::shared_ptr<const scheduler::Clock> clock;
  std::size_t spans_kept = 0;
  caf::actor driver;
  caf::actor reducer;
};

/// Computes gradients on its replica within its permits, hands them to its reducer, and applies the updates that come
/// back (or adopts the weights), in the order that scheduler::PipelineWindow gives. Blocking; to be spawned detached:
/// the replica is built and used on this actor's thread.
void worker(caf::blocking_actor* self, const WorkerOptions& options);

}  // namespace tandem::actors
