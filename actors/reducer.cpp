#include "actors/reducer.h"

#include "actors/endings.h"
#include "actors/messages.h"
#include "actors/topology.h"
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
    ranks_ = &options_.ranks->end(options_.rank);
    bool stopped = false;
    self_
        ->do_receive([&](const SlotsReady&) { make_exchange(); },
                     [&](const GradientReady& ready) { exchange(ready.step); },
                     [&](const PullState& pull) { pull_state(pull.last); }, [&](const Stop&) { stopped = true; })
        .until([&] { return stopped; });
  }

  comm::Step step() const { return step_; }
  const scheduler::SpanRecorder& spans() const { return spans_; }

 private:
  void make_exchange() {
    GradientSlots& slots = *options_.slots;
    slots.exchange =
        topology(options_.job.topology.kind)
            .make_exchange(
                {.job = options_.job, .ranks = ranks_, .replica = std::move(slots.replica), .clock = options_.clock});
  }

  void exchange(comm::Step step) {
    step_ = step;
    const Time begin = options_.clock->now();
    GradientSlot& slot = options_.slots->of(step);
    const std::uint64_t sent_before = ranks_->bytes_sent();
    slot.update = options_.slots->exchange->exchange({step, slot.gradient, slot.weight});
    slot.bytes_sent = ranks_->bytes_sent() - sent_before;
    const Time end = options_.clock->now();
    slot.exchange = end - begin;
    record(slot.update, begin, end);
    answer(UpdateReady{step});
  }

  // Encoding and decoding take turns with sending; each is drawn as one span.
  void record(const Update& update, Time begin, Time end) {
    if (update.encoding > Time::zero()) spans_.record(Phase::encode, update.step, begin, begin + update.encoding);
    spans_.record(Phase::exchange, update.step, begin, end);
    if (update.decoding > Time::zero()) spans_.record(Phase::decode, update.step, end - update.decoding, end);
  }

  void pull_state(bool last) {
    options_.slots->true_state = options_.slots->exchange->true_state(last);
    answer(StatePulled{});
  }

  template <class Message>
  void answer(const Message& message) {
    self_->send(caf::actor_cast<caf::actor>(self_->current_sender()), message);
  }

  caf::blocking_actor* self_;
  const ReducerOptions& options_;
  scheduler::SpanRecorder spans_;
  comm::Communicator* ranks_ = nullptr;  // once connected
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
