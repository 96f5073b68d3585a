#include "actors/driver.h"

#include <fmt/format.h>

#include "actors/messages.h"
#include "actors/nodes.h"
#include "actors/run_book.h"
#include "comm/control/node.h"
#include "config/job_reader.h"

namespace tandem::actors {
namespace {

constexpr std::chrono::seconds look_interval(1);

std::string offer_text(const NodeJoined& node) {
  std::string text = fmt::format("{} cores, {:.1f} GiB", node.cores, static_cast<double>(node.memory) / (1 << 30));
  if (node.devices > 0) text += fmt::format(", {} GPUs", node.devices);
  if (!node.key.empty()) text += fmt::format(", key {}", node.key);
  return text;
}

class Driver {
 public:
  Driver(caf::event_based_actor* self, DriverOptions options)
      : self_(self),
        options_(std::move(options)),
        created_(now()),
        nodes_(options_.nodes),
        book_(options_.job, options_.observer, options_.run.clock),
        workers_(static_cast<std::size_t>(options_.job.training.workers)) {
    self_->delayed_send(self_, look_interval, Look{});
  }

  // Runs a handler; whatever it throws ends the run, and so may its outcome.
  template <class Handler>
  void handle(Handler handler) {
    if (ended_) return;
    try {
      handler();
    } catch (const std::exception& error) {
      fail({ActorKind::driver, 0, -1, error.what(), Blame::own});
    } catch (...) {
      fail({ActorKind::driver, 0, -1, "an exception of unknown type", Blame::own});
    }
    if (book_.all_ended()) end(false);
  }

  void joined(const NodeJoined& node) {
    if (!nodes_.join(node)) {
      self_->send(node.node, RunOver{"the run has all its nodes"});
      return options_.observer.on_notice(node.text + " is not needed: the run has all its nodes");
    }
    if (options_.remote) {
      options_.observer.on_notice(fmt::format("{} joined ({}): {}", node.text, offer_text(node), nodes_.count_text()));
    }
    if (nodes_.complete()) start_workers();
  }

  void lost(const NodeLost& message) {
    const std::optional<Nodes::Member> node = nodes_.leave(message.node);
    if (!node) return;
    if (!nodes_.placed()) {
      return options_.observer.on_notice(
          fmt::format("{} is gone: {}; {}", node->joined.text, message.reason, nodes_.count_text()));
    }
    const bool first = !book_.has_failed();
    book_.lost(node->place, message.reason);
    if (first && book_.has_failed()) abort();
  }

  // Nobody starts it again, so there is nothing to wait for.
  void process_ended(const ProcessEnded& ended) {
    for (const auto& [node, place] : nodes_.all()) {
      if (node.pid != ended.pid) continue;
      if (nodes_.placed()) return lost({node.node, ended.how});
      throw std::runtime_error(fmt::format("{} is gone before all have joined: {}", node.text, ended.how));
    }
    if (!nodes_.placed()) {
      throw std::runtime_error(fmt::format("a node (pid {}) did not join: {}", ended.pid, ended.how));
    }
  }

  void started(const WorkersStarted& started) {
    const NodeShare& share = nodes_.placement().nodes.at(static_cast<std::size_t>(started.node));
    for (std::size_t i = 0; i < started.workers.size(); ++i) {
      workers_.at(static_cast<std::size_t>(share.first_rank) + i) = started.workers[i].actor;
    }
    for (const Handle& server : started.servers) servers_.push_back(server.actor);
    ++nodes_started_;
    start_training_if_ready();
  }

  void publish(const Publish& message) { send_to_nodes(Published{message.key, message.value}); }

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
  void notice(const Notice& notice) { options_.observer.on_notice(notice.text); }

  void fail(const Failed& failure) {
    const bool first = !book_.has_failed();
    book_.failed(failure);
    if (first) abort();
  }

  void interrupt() {
    interrupted_ = true;
    if (!nodes_.placed()) return end(false);
    if (!book_.started()) return;
    send_to_workers(book_.interrupt());
  }

  // Asked for by somebody who does not want to wait long.
  void cut_short(const std::string& reason) {
    self_->delayed_send(self_, cut_short_grace, GraceOver{});
    fail({ActorKind::driver, 0, -1, reason, Blame::own});
  }

  void look() {
    self_->delayed_send(self_, look_interval, Look{});
    const double waited = scheduler::seconds(now() - created_);
    if (!nodes_.placed() && !book_.has_failed() && waited > options_.job.cluster.join_timeout_seconds) {
      throw std::runtime_error(
          fmt::format("only {} joined in {:.0f} s (cluster.join_timeout_seconds)", nodes_.count_text(), waited));
    }
    if (const auto hang = book_.hang()) options_.observer.on_notice(*hang);
  }

  void end(bool stuck) {
    ended_ = true;
    Outcome outcome{book_.summary(), std::nullopt, stuck};
    outcome.summary.interrupted |= interrupted_ && !book_.started();
    if (book_.has_failed()) outcome.failure = book_.failure_text(stuck);
    send_to_nodes(RunOver{outcome.failure.value_or("")});
    options_.outcome->set_value(std::move(outcome));
    self_->quit();
  }

 private:
  scheduler::Time now() const { return options_.run.clock->now(); }

  void start_workers() {
    nodes_.place(options_.job);
    for (const std::string& name : nodes_.shared_names()) {
      options_.observer.on_notice(
          fmt::format("several nodes are called {}: their hosts and process ids decide which ranks each has; --name "
                      "tells them apart",
                      name));
    }
    StartWorkers order;
    order.group = to_string(comm::control::random_node_id());
    const std::vector<int> places = nodes_.placement().places();
    order.places.assign(places.begin(), places.end());
    order.evaluate = options_.run.evaluate;
    order.spans_kept = options_.run.spans_kept;
    if (options_.remote) order.job = config::to_toml(options_.job);
    for (const auto& [node, place] : nodes_.all()) {
      order.node = place;
      start_workers_on(node, nodes_.placement().nodes[static_cast<std::size_t>(place)], order);
    }
  }

  void start_workers_on(const NodeJoined& node, const NodeShare& share, StartWorkers& order) {
    order.first_rank = share.first_rank;
    order.count = share.workers;
    order.servers.assign(share.servers.begin(), share.servers.end());
    for (int rank = share.first_rank; rank < share.first_rank + share.workers; ++rank) {
      book_.expect(ActorKind::worker, rank, order.node, node.text);
      book_.expect(ActorKind::reducer, rank, order.node, node.text);
    }
    for (const int server : share.servers) book_.expect(ActorKind::parameter_server, server, order.node, node.text);
    self_->send(node.node, order);
  }

  void start_training_if_ready() {
    if (book_.started() || book_.has_failed() || nodes_started_ < options_.nodes || !book_.all_ready()) return;
    book_.start();
    for (const caf::actor& server : servers_) self_->send(server, book_.serving());
    if (interrupted_) interrupt();
    extend_permits();
  }

  template <class Message>
  void send_to_nodes(const Message& message) {
    for (const auto& [node, place] : nodes_.all()) self_->send(node.node, message);
  }

  void extend_permits() { send_to_workers(book_.permits()); }

  void send_to_workers(const std::vector<scheduler::WorkerPermit>& permits) {
    for (const auto& [rank, permit] : permits) {
      self_->send(workers_[static_cast<std::size_t>(rank)],
                  Permit{permit.until, permit.width, permit.last, interrupted_});
    }
  }

  void abort() {
    send_to_nodes(Abort{"the run has failed"});
    self_->delayed_send(self_, options_.run.grace, GraceOver{});
  }

  caf::event_based_actor* self_;
  DriverOptions options_;
  const scheduler::Time created_;
  Nodes nodes_;
  RunBook book_;
  std::vector<caf::actor> workers_;
  std::vector<caf::actor> servers_;
  int nodes_started_ = 0;
  bool interrupted_ = false;
  bool ended_ = false;
};

caf::behavior leading(caf::event_based_actor* self, const DriverOptions& options) {
  const auto state = std::make_shared<Driver>(self, options);
  return {
      [=](const NodeJoined& message) { state->handle([&] { state->joined(message); }); },
      [=](const NodeLost& message) { state->handle([&] { state->lost(message); }); },
      [=](const ProcessEnded& message) { state->handle([&] { state->process_ended(message); }); },
      [=](const Notice& message) { state->handle([&] { state->notice(message); }); },
      [=](const WorkersStarted& message) { state->handle([&] { state->started(message); }); },
      [=](const Publish& message) { state->handle([&] { state->publish(message); }); },
      [=](const WorkerReady& message) { state->handle([&] { state->ready(message); }); },
      [=](const IterationReport& message) { state->handle([&] { state->iterations(message); }); },
      [=](const EvaluationReport& message) { state->handle([&] { state->evaluation(message); }); },
      [=](const Spans& message) { state->handle([&] { state->spans(message); }); },
      [=](const Finished& message) { state->handle([&] { state->finished(message); }); },
      [=](const Failed& message) { state->handle([&] { state->fail(message); }); },
      [=](Interrupt) { state->handle([&] { state->interrupt(); }); },
      [=](const CutShort& message) { state->handle([&] { state->cut_short(message.reason); }); },
      [=](Look) { state->handle([&] { state->look(); }); },
      [=](GraceOver) { state->handle([&] { state->end(true); }); },
  };
}

}  // namespace

caf::behavior driver(caf::event_based_actor* self, DriverOptions options) {
  self->set_default_handler(caf::skip);
  return {[self, options = std::move(options)](Begin) {
    self->set_default_handler(caf::print_and_drop);
    self->become(leading(self, options));
  }};
}

}  // namespace tandem::actors
