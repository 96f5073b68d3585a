#include "actors/worker.h"

#include <optional>

#include "actors/endings.h"
#include "actors/messages.h"
#include "actors/skip_watch.h"
#include "scheduler/pipeline_window.h"
#include "scheduler/timeline.h"

namespace tandem::actors {
namespace {

using models::StepGradient;
using scheduler::Phase;
using scheduler::PipelineWindow;
using scheduler::StepRange;
using scheduler::Time;

// A report a step would cost the driver more than it tells.
constexpr Time report_interval = std::chrono::milliseconds(50);

std::string name_and_shape(const models::Parameter& parameter) {
  std::string shape;
  for (const std::int64_t extent : parameter.shape) shape += (shape.empty() ? "" : ", ") + std::to_string(extent);
  return parameter.name + " [" + shape + "]";
}

class Worker final : models::PhaseListener {
 public:
  Worker(caf::blocking_actor* self, const WorkerOptions& options)
      : self_(self), options_(options), window_(options.width), skips_(options.rank), spans_(options.spans_kept) {}

  void run() {
    build_replica();
    self_
        ->do_receive([&](const Permit& permit) { grant(permit); },
                     [&](const UpdateReady& update) { window_.update_arrived(update.step); },
                     [&](const Stop& stop) { throw Stopped(stop.reason); },
                     // While it waits the driver is to know where it is.
                     caf::after(report_interval) >> [&] { report(); })
        .until([&] { return advance(); });
    self_->send(options_.reducer, Stop{});
  }

  // -1 before the first.
  scheduler::Step step() const { return permitted_ ? window_.step() : -1; }
  const scheduler::SpanRecorder& spans() const { return spans_; }

  // Sends the turns that the driver does not know yet.
  void report() {
    last_report_ = now();
    if (iterations_.empty()) return;
    self_->send(options_.driver, IterationReport{options_.rank, std::move(iterations_)});
    iterations_.clear();
  }

 private:
  void build_replica() {
    replica_ = options_.replicas(options_.rank, options_.world_size);
    options_.slots->allocate(replica_->size());
    options_.slots->replica = {replica_->size(), replica_->parameter_count(), {}};
    if (options_.brings_state) {
      options_.slots->replica.initial.assign(replica_->weights().begin(), replica_->weights().end());
    }
    self_->send(options_.reducer, SlotsReady{});
    std::vector<std::string> parameters;
    for (const models::Parameter& p : replica_->parameters()) {
      parameters.push_back(name_and_shape(p));
    }
    idle_since_ = now();
    self_->send(options_.driver, WorkerReady{options_.rank, replica_->size(), replica_->parameter_count(),
                                             replica_->steps_per_epoch(), parameters});
  }

  void grant(const Permit& permit) {
    permitted_ = true;
    interrupted_ = permit.interrupted;
    if (interrupted_ && options_.ends_apart) return window_.end();
    window_.grant({permit.until, permit.width, permit.last});
  }

  // Goes as far as permits and updates allow; true at the end of the run.
  bool advance() {
    for (;;) {
      switch (window_.next()) {
        case PipelineWindow::Next::compute:
          compute_step();
          break;
        case PipelineWindow::Next::apply_rest:
          apply_rest();
          break;
        case PipelineWindow::Next::done:
          report();
          if (options_.adopts) pull_state(true);
          if (options_.evaluate_end && !interrupted_) evaluate(true);
          return true;
        case PipelineWindow::Next::await_permit:
          // The driver extends permits by what it is told.
          report();
          [[fallthrough]];
        case PipelineWindow::Next::await_update:
          if (!idle_since_) idle_since_ = now();
          return false;
      }
    }
  }

  void compute_step() {
    const scheduler::Step step = window_.step();
    begin_iteration();
    apply(window_.due(), window_.in_flight());
    iteration_.applied = window_.due().end;
    if (options_.evaluate_epochs && step > 0 && step % replica_->steps_per_epoch() == 0) evaluate_epoch();
    GradientSlot& slot = options_.slots->of(step);
    phase_begin_ = now();
    const models::BatchResult batch = replica_->compute(step, slot.gradient, *this);
    slot.weight = static_cast<double>(batch.samples);
    self_->send(options_.reducer, GradientReady{step});
    window_.step_computed();
    end_iteration(batch);
  }

  void apply_rest() {
    begin_iteration();
    apply(window_.due(), {});
    window_.rest_applied();
    iterations_.push_back(std::move(iteration_));
  }

  void begin_iteration() {
    iteration_ = {};
    iteration_.step = window_.step();
    if (!idle_since_) return;
    const Time end = now();
    iteration_.wait_ns = (end - *idle_since_).count();
    spans_.record(Phase::wait, iteration_.step, *idle_since_, end);
    idle_since_.reset();
  }

  void end_iteration(const models::BatchResult& batch) {
    iteration_.computed = true;
    iteration_.samples = batch.samples;
    iteration_.loss_sum = batch.loss_sum;
    iteration_.correct = batch.correct;
    if (last_gradient_) iteration_.step_ns = (phase_begin_ - *last_gradient_).count();
    last_gradient_ = phase_begin_;
    iterations_.push_back(std::move(iteration_));
    if (phase_begin_ - last_report_ >= report_interval) report();
  }

  void apply(StepRange due, StepRange in_flight) {
    const Time begin = now();
    std::vector<StepGradient> updates;
    for (scheduler::Step step = due.first; step < due.end; ++step) {
      const GradientSlot& slot = options_.slots->of(step);
      iteration_.exchanges.push_back(report_of(slot));
      if (skips_.is_to_be_applied(slot.update)) updates.push_back({step, slot.update.values});
      iteration_.skipped += slot.update.finite ? 0 : 1;
    }
    if (options_.adopts) {
      if (due.count() > 0) replica_->adopt(options_.slots->of(due.end - 1).update.values);
    } else {
      const bool predicts = in_flight.count() > 0;
      replica_->advance(updates, predicts ? options_.prediction : models::Prediction::none, own_gradients(in_flight));
    }
    const Time end = now();
    iteration_.apply_ns = (end - begin).count();
    spans_.record(Phase::apply, iteration_.step, begin, end);
  }

  static ExchangeReport report_of(const GradientSlot& slot) {
    return {.exchange_ns = slot.exchange.count(),
            .encode_ns = slot.update.encoding.count(),
            .decode_ns = slot.update.decoding.count(),
            .bytes_sent = slot.bytes_sent,
            .ahead = slot.update.ahead.value_or(-1)};
  }

  std::vector<StepGradient> own_gradients(StepRange in_flight) const {
    std::vector<StepGradient> gradients;
    for (scheduler::Step step = in_flight.first; step < in_flight.end; ++step) {
      gradients.push_back({step, options_.slots->of(step).gradient});
    }
    return gradients;
  }

  // What the servers hold now, in place of what they may have predicted.
  void pull_state(bool last) {
    self_->send(options_.reducer, PullState{last});
    self_->receive([&](const StatePulled&) { replica_->adopt(options_.slots->true_state); },
                   [&](const Stop& stop) { throw Stopped(stop.reason); });
  }

  // Of the weights that the last updates made, even if the next step is computed with predicted ones.
  void evaluate_epoch() {
    if (!options_.pulls_to_evaluate || iteration_.applied == 0) return evaluate(false);
    const Time begin = now();
    pull_state(false);
    const Time pulled = now();
    evaluate(false);
    const Time evaluated = now();
    replica_->adopt(options_.slots->of(iteration_.applied - 1).update.values);
    if (last_gradient_) *last_gradient_ += (pulled - begin) + (now() - evaluated);
  }

  void evaluate(bool last) {
    const Time begin = now();
    const models::Evaluation result = replica_->evaluate();
    const Time end = now();
    spans_.record(Phase::evaluate, window_.step(), begin, end);
    // An evaluation is no part of a step.
    if (last_gradient_) *last_gradient_ += end - begin;
    self_->send(options_.driver, EvaluationReport{options_.rank, last, window_.step(), result.samples, result.loss_sum,
                                                  result.correct, (end - begin).count()});
  }

  void phase_ended(models::ComputePhase phase) override {
    const Time end = now();
    const std::int64_t duration = (end - phase_begin_).count();
    switch (phase) {
      case models::ComputePhase::data:
        iteration_.data_ns += duration;
        spans_.record(Phase::data, iteration_.step, phase_begin_, end);
        break;
      case models::ComputePhase::forward:
        iteration_.forward_ns += duration;
        spans_.record(Phase::forward, iteration_.step, phase_begin_, end);
        break;
      case models::ComputePhase::backward:
        iteration_.backward_ns += duration;
        spans_.record(Phase::backward, iteration_.step, phase_begin_, end);
        break;
    }
    phase_begin_ = end;
  }

  Time now() const { return options_.clock->now(); }

  caf::blocking_actor* self_;
  const WorkerOptions& options_;
  std::unique_ptr<models::Replica> replica_;
  PipelineWindow window_;
  SkipWatch skips_;
  scheduler::SpanRecorder spans_;

  bool permitted_ = false;
  bool interrupted_ = false;
  Iteration iteration_;
  std::vector<Iteration> iterations_;  // not reported yet
  Time last_report_{};
  Time phase_begin_{};
  std::optional<Time> idle_since_;
  std::optional<Time> last_gradient_;
};

}  // namespace

void worker(caf::blocking_actor* self, const WorkerOptions& options) {
  Worker state(self, options);
  run_to_end(self, options.driver,
             {.kind = ActorKind::worker,
              .rank = options.rank,
              .run = [&] { state.run(); },
              .step = [&] { return state.step(); },
              .report = [&] { state.report(); },
              .spans = state.spans()});
}

}  // namespace tandem::actors
