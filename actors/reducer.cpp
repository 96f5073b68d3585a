#include "actors/reducer.h"

#include "actors/endings.h"
#include "actors/messages.h"
#include "scheduler/timeline.h"

namespace tandem::actors {
namespace {

using scheduler::Phase;
using scheduler::Time;

class Reducer {
 public:
  Reducer(caf::blocking_actor* self, const ReducerOptions& options)
      : self_(self), options_(options), spans_(options.spans_kept) {}

  void run() {
    bool stopped = false;
    self_->do_receive([&](const GradientReady& ready) { exchange(ready.step); }, [&](const Stop&) { stopped = true; })
        .until([&] { return stopped; });
  }

  comm::Step step() const { return step_; }
  const scheduler::SpanRecorder& spans() const { return spans_; }

 private:
  void exchange(comm::Step step) {
    step_ = step;
    const Time begin = options_.clock->now();
    GradientSlot& slot = options_.slots->of(step);
    const std::uint64_t sent_before = options_.ranks->bytes_sent();
    slot.mean = options_.topology->exchange(*options_.ranks, {step, slot.gradient, slot.weight});
    slot.bytes_sent = options_.ranks->bytes_sent() - sent_before;
    const Time end = options_.clock->now();
    slot.exchange = end - begin;
    spans_.record(Phase::exchange, step, begin, end);
    self_->send(caf::actor_cast<caf::actor>(self_->current_sender()), UpdateReady{step});
  }

  caf::blocking_actor* self_;
  const ReducerOptions& options_;
  scheduler::SpanRecorder spans_;
  comm::Step step_ = -1;
};

}  // namespace

void reducer(caf::blocking_actor* self, const ReducerOptions& options) {
  Reducer state(self, options);
  run_to_end(self, options.driver,
             {.kind = ActorKind::reducer,
              .rank = options.rank,
              .run = [&] { state.run(); },
              .step = [&] { return state.step(); },
              .report = [] {},
              .spans = state.spans()});
}

}  // namespace tandem::actors
