#pragma once

#include <caf/all.hpp>

#include <functional>
#include <stdexcept>
#include <string>

#include "actors/messages.h"
#include "scheduler/timeline.h"

namespace tandem::actors {

/// Thrown in an actor that was told to end before it was done: a consequence of an error elsewhere.
class Stopped : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What an actor that blocks has to say of itself.
struct Actor {
  ActorKind kind = ActorKind::worker;
  int rank = 0;
  std::function<void()> run;
  std::function<std::int64_t()> step;  ///< where it is, or was when it ended
  std::function<void()> report;        ///< sends what it has not reported yet
  const scheduler::SpanRecorder& spans;
};

/// Runs an actor to its end and tells the driver how it ended: what it has not reported yet, its spans, and then, last,
/// Finished, or Failed with the message of what it threw.
void run_to_end(caf::blocking_actor* self, const caf::actor& driver, const Actor& actor);

}  // namespace tandem::actors
