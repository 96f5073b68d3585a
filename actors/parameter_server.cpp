#include "actors/parameter_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "actors/endings.h"
#include "actors/messages.h"
#include "actors/server_shard.h"
#include "comm/codec.h"
#include "comm/error_text.h"
#include "comm/tags.h"
#include "comm/wire.h"
#include "models/sampler.h"
#include "scheduler/staleness_gate.h"
#include "scheduler/timeline.h"

namespace tandem::actors {
namespace {

using comm::AnswerHeader;
using comm::PartOfMean;
using comm::RequestHeader;
using comm::Tag;
using scheduler::Phase;
using scheduler::StalenessGate;
using scheduler::Time;

class ParameterServer {
 public:
  ParameterServer(caf::blocking_actor* self, const ParameterServerOptions& options)
      : self_(self),
        options_(options),
        job_(options.job),
        gate_({.workers = job_.training.workers,
               .width = job_.topology.width,
               .bound = config::is_synchronous(job_.topology) ? job_.topology.width - 1 : job_.topology.staleness}),
        workers_(static_cast<std::size_t>(job_.training.workers)),
        gradients_(workers_.size()),
        spans_(options.spans_kept) {}

  void run() {
    ranks_ = &options_.ranks->end(job_.training.workers + options_.index);
    self_->receive([&](const StartServing& start) { begin(start); },
                   [&](const Stop& stop) { throw Stopped(stop.reason); });
    while (left_ < job_.training.workers) take(next_request());
    for (int worker = 0; worker < job_.training.workers; ++worker) give(worker, {}, shard_->true_state());
  }

  comm::Step step() const { return step_; }
  const scheduler::SpanRecorder& spans() const { return spans_; }

 private:
  struct Worker {
    RequestHeader request;
    std::vector<float> gradient;
    std::optional<Time> waits_since;  // for an answer
    bool left = false;                // it has asked for the last state
  };

  Worker& at(int worker) { return workers_[static_cast<std::size_t>(worker)]; }
  Time now() const { return options_.clock->now(); }

  void begin(const StartServing& start) {
    const models::Share share =
        models::even_share(static_cast<std::int64_t>(start.size), job_.topology.servers, options_.index);
    const ServerShard::Place place{.first = static_cast<std::size_t>(share.first),
                                   .size = static_cast<std::size_t>(share.count),
                                   .parameters = static_cast<std::size_t>(start.parameter_count)};
    const models::LearningRate rate(job_.optimizer, job_.schedule,
                                    config::total_steps(job_.training, start.steps_per_epoch));
    shard_.emplace(job_, rate, place);
    std::vector<float> state(place.size);
    const int bringer = 0;
    ranks_->receive_any({&bringer, 1}, static_cast<std::uint32_t>(Tag::initial_state),
                        std::as_writable_bytes(std::span(state)), comm::longest_wait);
    shard_->begin_with(state);
  }

  // Since when somebody waits for others: for the answer to a gradient, or, with the last state, for anything to
  // happen.
  std::optional<Time> waiting_since() const {
    std::optional<Time> since;
    for (const Worker& worker : workers_) {
      if (!worker.waits_since) continue;
      const Time its = worker.left ? std::max(*worker.waits_since, last_request_) : *worker.waits_since;
      since = std::min(its, since.value_or(its));
    }
    return since;
  }

  // Those that may ask.
  std::vector<int> expected_workers() const {
    std::vector<int> expected;
    for (int worker = 0; worker < job_.training.workers; ++worker) {
      if (!workers_[static_cast<std::size_t>(worker)].waits_since) expected.push_back(worker);
    }
    return expected;
  }

  int next_request() {
    const std::vector<int> expected = expected_workers();
    const std::optional<Time> waits_since = waiting_since();
    const Time begin = now();
    const comm::Duration limit = waits_since ? ranks_->deadline() - (begin - *waits_since) : comm::longest_wait;
    RequestHeader request;
    try {
      const int worker = ranks_->receive_any(expected, static_cast<std::uint32_t>(Tag::request),
                                             comm::writable_bytes_of(request), std::max(limit, comm::Duration::zero()));
      at(worker).request = request;
      last_request_ = now();
      spans_.record(Phase::wait, step_, begin, now());
      return worker;
    } catch (const comm::DeadlineError&) {
      const std::vector<int> late = gate_.holds_any() ? gate_.slowest() : expected;
      throw comm::DeadlineError(fmt::format("{} did not come in time: others waited {:.3f} s, {:.3f} s are allowed",
                                            comm::ranks_text(late), scheduler::seconds(now() - *waits_since),
                                            scheduler::seconds(ranks_->deadline())));
    }
  }

  void take(int worker) {
    Worker& its = at(worker);
    if (its.request.kind == RequestHeader::Kind::state) return give(worker, {}, shard_->true_state());
    its.waits_since = now();
    if (its.request.kind == RequestHeader::Kind::last_state) {
      its.left = true;
      ++left_;
      gate_.ended(worker);
    } else {
      take_gradient(worker);
      gate_.pushed(worker);
    }
    answer_due();
  }

  void take_gradient(int worker) {
    Worker& its = at(worker);
    const RequestHeader& request = its.request;
    step_ = std::max(step_, request.step);
    if (request.weight > 0) receive_gradient(worker);
    PushedGradient& gradient = gradients_[static_cast<std::size_t>(worker)];
    gradient = {.step = request.step,
                .values = its.gradient,
                .weight = request.weight,
                .finite = request.finite != 0,
                .squared_norm = {}};
    if (config::is_synchronous(job_.topology)) return;
    if (job_.optimizer.clip_norm) gradient.squared_norm = request.squared_norm;
    const Time begin = now();
    gradient.finite = shard_->apply(worker, gradient);
    spans_.record(Phase::apply, request.step, begin, now());
  }

  void receive_gradient(int worker) {
    Worker& its = at(worker);
    check(worker);
    const auto codec = static_cast<config::Codec>(its.request.codec);
    its.gradient.resize(its.request.size);
    if (codec == config::Codec::none)
      return receive(worker, Tag::gradient, std::as_writable_bytes(std::span(its.gradient)));
    encoded_.resize(comm::encoded_size(codec, its.gradient.size()));
    receive(worker, Tag::gradient, encoded_);
    const Time begin = now();
    comm::decode(codec, encoded_, its.gradient);
    spans_.record(Phase::decode, its.request.step, begin, now());
  }

  // A worker with another model or other settings would have been found before the first step.
  void check(int worker) {
    const RequestHeader& request = at(worker).request;
    const std::size_t size = shard_->true_state().size();
    if (request.size == size && request.codec == static_cast<std::uint8_t>(job_.topology.codec)) return;
    const std::string flaw = fmt::format("rank {} sent a gradient of {} values with codec number {}, not of {} with {}",
                                         worker, request.size, request.codec, size, name(job_.topology.codec));
    ranks_->abort(flaw);
    throw comm::CommError(flaw);
  }

  void answer_due() {
    const std::vector<StalenessGate::Answer> due = gate_.due();
    if (due.empty()) return;
    if (config::is_synchronous(job_.topology)) return answer_all();
    for (const StalenessGate::Answer& answer : due) {
      const PushedGradient& gradient = gradients_[static_cast<std::size_t>(answer.worker)];
      AnswerHeader header{.step = answer.step, .weight = gradient.weight, .ahead = answer.ahead};
      header.finite = gradient.finite ? 1 : 0;
      if (!gradient.finite) header.non_finite_rank = answer.worker;
      give(answer.worker, header, shard_->state_for(answer.worker));
    }
  }

  // All gradients of one step are here.
  void answer_all() {
    const Time begin = now();
    comm::Mean mean = shard_->mean(gradients_);
    const std::optional<double> squared_norm = agree(mean);
    shard_->apply_mean(mean, mean.finite, squared_norm);
    spans_.record(Phase::apply, mean.step, begin, now());
    AnswerHeader header{.step = mean.step, .weight = mean.weight};
    header.finite = mean.finite ? 1 : 0;
    header.non_finite_rank = mean.non_finite_rank.value_or(AnswerHeader::no_rank);
    for (int worker = 0; worker < job_.training.workers; ++worker) give(worker, header, shard_->state_for(worker));
  }

  // Makes `mean.finite` true of all servers' parts; returns the squared norm of all parts, where there are several.
  std::optional<double> agree(comm::Mean& mean) {
    if (job_.topology.servers == 1) return std::nullopt;
    PartOfMean own{.step = mean.step, .finite = mean.finite ? 1U : 0U};
    if (job_.optimizer.clip_norm && mean.weight > 0) own.squared_norm = shard_->squared_norm(mean.values);
    const int first = job_.training.workers;
    for (int server = 0; server < job_.topology.servers; ++server) {
      if (server != options_.index) {
        ranks_->send(first + server, static_cast<std::uint32_t>(Tag::part_of_mean), comm::bytes_of(own));
      }
    }
    double squared_norm = 0;
    for (int server = 0; server < job_.topology.servers; ++server) {
      PartOfMean part = own;
      if (server != options_.index) receive(first + server, Tag::part_of_mean, comm::writable_bytes_of(part));
      squared_norm += part.squared_norm;
      mean.finite &= part.finite != 0;
    }
    return squared_norm;
  }

  void give(int worker, const AnswerHeader& header, std::span<const float> state) {
    const Time begin = now();
    at(worker).waits_since.reset();
    ranks_->send(worker, static_cast<std::uint32_t>(Tag::answer), comm::bytes_of(header));
    ranks_->send(worker, static_cast<std::uint32_t>(Tag::state), std::as_bytes(state));
    spans_.record(Phase::exchange, header.step, begin, now());
  }

  void receive(int from, Tag tag, std::span<std::byte> data) {
    ranks_->receive(from, static_cast<std::uint32_t>(tag), data);
  }

  caf::blocking_actor* self_;
  const ParameterServerOptions& options_;
  const config::Job& job_;
  comm::Communicator* ranks_ = nullptr;  // once connected
  std::optional<ServerShard> shard_;
  StalenessGate gate_;
  std::vector<Worker> workers_;
  std::vector<PushedGradient> gradients_;  // by worker: the newest
  std::vector<std::byte> encoded_;
  int left_ = 0;
  Time last_request_{};
  comm::Step step_ = -1;
  scheduler::SpanRecorder spans_;
};

}  // namespace

void parameter_server(caf::blocking_actor* self, const ParameterServerOptions& options) {
  ParameterServer state(self, options);
  run_to_end(self, options.driver,
             {.kind = ActorKind::parameter_server,
              .rank = options.index,
              .run = [&] { state.run(); },
              .step = [&] { return state.step(); },
              .report = [] {},
              .spans = state.spans()});
}

}  // namespace tandem::actors
