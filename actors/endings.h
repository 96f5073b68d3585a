#pragma once

#include <caf/all.hpp>

#include <stdexcept>
#include <string>

#include "actors/messages.h"
#include "comm/communicator.h"
#include "scheduler/timeline.h"

// How workers and reducers tell the driver that they have ended: each sends exactly one Finished or Failed, last.
namespace tandem::actors {

/// Thrown in an actor that was told to end before it was done: a consequence of an error elsewhere.
class Stopped : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

Finished finished(const std::string& actor, int rank, const scheduler::SpanRecorder& spans);

/// Runs `body`; if it throws, sends what `failed` returns (actor, rank, step) to `driver` with the error's message.
template <class Body, class Describe>
void report_failure(caf::blocking_actor* self, const caf::actor& driver, Body body, Describe failed) {
  const auto send = [&](const std::string& what, bool consequence) {
    Failed failure = failed();
    failure.what = what;
    failure.consequence = consequence;
    self->send(driver, failure);
  };
  try {
    body();
  } catch (const Stopped& error) {
    send(error.what(), true);
  } catch (const comm::AbortedError& error) {
    send(error.what(), true);
  } catch (const std::exception& error) {
    send(error.what(), false);
  } catch (...) {
    send("an exception of unknown type", false);
  }
}

}  // namespace tandem::actors
