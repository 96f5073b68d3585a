#include "actors/driver.h"

#include "actors/messages.h"
#include "actors/run_book.h"

namespace tandem::actors {
namespace {

class Driver {
 public:
  Driver(caf::event_based_actor* self, DriverOptions options)
      : self_(self), options_(std::move(options)), book_(options_.job, options_.observer, options_.clock) {
    self_->set_down_handler([this](const caf::down_msg& down) {
      fail({ActorKind::node, 0, -1, "ended: " + caf::to_string(down.reason), false});
    });
    self_->monitor(options_.node);
    self_->send(options_.node, StartWorkers{0, options_.job.training.workers});
  }

  // Runs a handler; whatever it throws ends the run, and so may its outcome.
  template <class Handler>
  void handle(Handler handler) {
    try {
      handler();
    } catch (const std::exception& error) {
      fail({ActorKind::driver, 0, -1, error.what(), false});
    } catch (...) {
      fail({ActorKind::driver, 0, -1, "an exception of unknown type", false});
    }
    if (book_.all_ended()) end(false);
  }

  void started(const WorkersStarted& started) {
    workers_ = started.workers;
    servers_ = started.servers;
    start_training_if_ready();
  }

  void ready(const WorkerReady& worker) {
    book_.ready(worker);
    start_training_if_ready();
  }

  void iterations(const IterationReport& report) {
    book_.iterations(report);
    if (!book_.has_failed()) extend_permits();
  }

  void evaluation(const EvaluationReport& report) { book_.evaluation(report); }
  void spans(const Spans& spans) { book_.spans(spans); }
  void finished(const Finished& actor) { book_.finished(actor); }

  void fail(const Failed& failure) {
    const bool first = !book_.has_failed();
    book_.failed(failure);
    if (!first) return;
    self_->send(options_.node, Abort{"the run has failed"});
    self_->delayed_send(self_, options_.grace, GraceOver{});
  }

  void interrupt() {
    interrupted_ = true;
    if (!book_.started()) return;
    send_to_workers(book_.interrupt());
  }

  void end(bool stuck) {
    if (ended_) return;
    ended_ = true;
    Outcome outcome{book_.summary(), std::nullopt, stuck};
    if (book_.has_failed()) outcome.failure = book_.failure_text(stuck);
    options_.outcome->set_value(std::move(outcome));
    self_->quit();
  }

 private:
  void start_training_if_ready() {
    if (book_.started() || book_.has_failed() || workers_.empty() || !book_.all_ready()) return;
    book_.start();
    for (const caf::actor& server : servers_) self_->send(server, book_.serving());
    if (interrupted_) interrupt();
    extend_permits();
  }

  void extend_permits() { send_to_workers(book_.permits()); }

  void send_to_workers(const std::vector<scheduler::WorkerPermit>& permits) {
    for (const auto& [rank, permit] : permits) {
      self_->send(workers_[static_cast<std::size_t>(rank)],
                  Permit{permit.until, permit.width, permit.last, interrupted_});
    }
  }

  caf::event_based_actor* self_;
  DriverOptions options_;
  RunBook book_;
  std::vector<caf::actor> workers_;
  std::vector<caf::actor> servers_;
  bool interrupted_ = false;
  bool ended_ = false;
};

}  // namespace

caf::behavior driver(caf::event_based_actor* self, DriverOptions options) {
  const auto state = std::make_shared<Driver>(self, std::move(options));
  return {
      [=](const WorkersStarted& message) { state->handle([&] { state->started(message); }); },
      [=](const WorkerReady& message) { state->handle([&] { state->ready(message); }); },
      [=](const IterationReport& message) { state->handle([&] { state->iterations(message); }); },
      [=](const EvaluationReport& message) { state->handle([&] { state->evaluation(message); }); },
      [=](const Spans& message) { state->handle([&] { state->spans(message); }); },
      [=](const Finished& message) { state->handle([&] { state->finished(message); }); },
      [=](const Failed& message) { state->handle([&] { state->fail(message); }); },
      [=](Interrupt) { state->handle([&] { state->interrupt(); }); },
      [=](const CutShort& message) {
        state->handle([&] { state->fail({ActorKind::driver, 0, -1, message.reason, false}); });
      },
      [=](GraceOver) { state->handle([&] { state->end(true); }); },
  };
}

}  // namespace tandem::actors
