#include "actors/endings.h"

#include <optional>

#include "comm/communicator.h"

namespace tandem::actors {
namespace {

struct Error {
  std::string what;
  Blame blame = Blame::own;
};

std::optional<Error> error_of(const std::function<void()>& run) {
  try {
    run();
    return std::nullopt;
  } catch (const Stopped& error) {
    return Error{error.what(), Blame::other};
  } catch (const comm::AbortedError& error) {
    return Error{error.what(), Blame::other};
  } catch (const comm::CommError& error) {
    return Error{error.what(), Blame::exchange};
  } catch (const std::exception& error) {
    return Error{error.what()};
  } catch (...) {
    return Error{"an exception of unknown type"};
  }
}

Spans to_message(const Actor& actor) {
  Spans message{actor.kind, actor.rank, {}, actor.spans.lost()};
  for (const scheduler::Span& span : actor.spans.spans()) {
    message.spans.push_back({span.begin.count(), span.end.count(), span.step, static_cast<std::uint8_t>(span.phase)});
  }
  return message;
}

}  // namespace

void run_to_end(caf::blocking_actor* self, const caf::actor& driver, const Actor& actor) {
  const std::optional<Error> error = error_of(actor.run);
  actor.report();
  self->send(driver, to_message(actor));
  if (error) {
    self->send(driver, Failed{actor.kind, actor.rank, actor.step(), error->what, error->blame});
  } else {
    self->send(driver, Finished{actor.kind, actor.rank});
  }
}

}  // namespace tandem::actors
