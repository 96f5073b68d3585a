#include "actors/node.h"

#include <map>
#include <span>
#include <string_view>

#include "actors/local_ranks.h"
#include "actors/messages.h"
#include "actors/parameter_server.h"
#include "actors/reducer.h"
#include "actors/worker.h"
#include "comm/endpoint.h"

namespace tandem::actors {
namespace {

models::Prediction prediction(config::Correction correction) {
  switch (correction) {
    case config::Correction::none:
    case config::Correction::dc:
      return models::Prediction::none;
    case config::Correction::momentum:
      return models::Prediction::momentum;
    case config::Correction::local:
      return models::Prediction::local;
  }
  throw std::logic_error("unknown correction");
}

// Under keys that begin so, each node publishes its host.
constexpr std::string_view host_key = "host/";

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

class Node {
 public:
  Node(caf::event_based_actor* self, NodeOptions options) : self_(self), options_(std::move(options)) {
    self_->set_down_handler([this](caf::down_msg& down) { child_ended(down); });
  }

  // Stays alive whatever goes wrong: abort() must reach those that have been spawned.
  void start(const StartWorkers& order) {
    driver_ = caf::actor_cast<caf::actor>(self_->current_sender());
    node_ = order.node;
    try {
      NodeJob prepared = options_.prepare(order.job, order.count);
      job_ = std::move(prepared.job);
      replicas_ = std::move(prepared.replicas);
      join_ranks(order);
      WorkersStarted started;
      started.node = order.node;
      for (const int server : order.servers) started.servers.push_back({spawn_server(server, order)});
      for (int rank = order.first_rank; rank < order.first_rank + order.count; ++rank) {
        started.workers.push_back({spawn_worker(rank, order)});
      }
      self_->send(driver_, started);
    } catch (const std::exception& error) {
      self_->send(driver_, Failed{ActorKind::node, node_, -1, error.what(), Blame::own});
    }
  }

  void published(const Published& message) {
    if (message.key.starts_with(host_key)) return check_reachable_from(message.value);
    if (store_) store_->put(message.key, bytes_of(message.value));
  }

  void abort(const std::string& reason) {
    if (ranks_) ranks_->abort(reason);
    for (const auto& [address, child] : children_) self_->send(caf::actor_cast<caf::actor>(child.handle), Stop{reason});
  }

  // No other message of the driver's is of interest after this one.
  void end(const std::string& failure, bool driver_lost) {
    if (over_) return;
    over_ = true;
    outcome_.driver_lost = driver_lost;
    // If it is this node that leaves, others are to know whose doing it is before they see what comes of it.
    if (driver_lost && driver_) self_->send(driver_, Failed{ActorKind::node, node_, -1, failure, Blame::own});
    if (!failure.empty()) {
      outcome_.failure = failure;
      abort(failure);
    }
    if (children_.empty()) return quit();
    self_->delayed_send(self_, options_.grace, GraceOver{});
  }

  void grace_over() {
    outcome_.stuck = true;
    quit();
  }

 private:
  struct Child {
    ActorKind kind = ActorKind::worker;
    int rank = 0;
    caf::actor handle;
  };

  bool has_servers() const { return config::has_parameter_servers(job_.topology.kind); }

  void join_ranks(const StartWorkers& order) {
    store_ =
        std::make_shared<PublishedStore>([driver = driver_](const std::string& key, std::span<const std::byte> value) {
          caf::anon_send(driver, Publish{key, std::string(reinterpret_cast<const char*>(value.data()), value.size())});
        });
    LocalRanksOptions ranks;
    ranks.job = job_;
    ranks.places.assign(order.places.begin(), order.places.end());
    ranks.node = order.node;
    ranks.name = options_.name;
    ranks.group = order.group;
    if (options_.address) {
      address_ = ranks.address = options_.address(job_.cluster.interface);
      self_->send(driver_, Publish{std::string(host_key) + std::to_string(node_), options_.host});
    }
    ranks_ = std::make_shared<LocalRanks>(std::move(ranks), store_);
  }

  // Else the other host's ranks would try to connect with themselves, until their time is over.
  void check_reachable_from(const std::string& host) {
    if (host == options_.host || !comm::is_loopback(address_)) return;
    const std::string what =
        "the way to the driver is by the loopback address " + address_ + ", at which host " + host +
        " cannot reach this one: give this node the driver's address in the network, or set cluster.interface";
    address_.clear();
    self_->send(driver_, Failed{ActorKind::node, node_, -1, what, Blame::own});
  }

  caf::actor spawn_worker(int rank, const StartWorkers& order) {
    const auto slots = std::make_shared<GradientSlots>(job_.topology.width);
    ReducerOptions reducing;
    reducing.rank = rank;
    reducing.job = job_;
    reducing.ranks = ranks_;
    reducing.slots = slots;
    reducing.clock = options_.clock;
    reducing.spans_kept = order.spans_kept;
    reducing.driver = driver_;
    WorkerOptions working;
    working.rank = rank;
    working.world_size = job_.training.workers;
    working.width = job_.topology.width;
    working.prediction = prediction(job_.topology.correction);
    working.adopts = has_servers();
    working.ends_apart = !config::is_synchronous(job_.topology);
    working.brings_state = has_servers() && rank == 0;
    working.pulls_to_evaluate = has_servers() && working.prediction != models::Prediction::none;
    working.evaluate_epochs = order.evaluate && job_.run.evaluate_epochs;
    working.evaluate_end = order.evaluate;
    working.replicas = replicas_;
    working.slots = slots;
    working.clock = options_.clock;
    working.spans_kept = order.spans_kept;
    working.driver = driver_;
    working.reducer = spawn_and_watch(ActorKind::reducer, rank, reducer, reducing);
    return spawn_and_watch(ActorKind::worker, rank, worker, working);
  }

  caf::actor spawn_server(int index, const StartWorkers& order) {
    ParameterServerOptions serving;
    serving.index = index;
    serving.job = job_;
    serving.ranks = ranks_;
    serving.clock = options_.clock;
    serving.spans_kept = order.spans_kept;
    serving.driver = driver_;
    return spawn_and_watch(ActorKind::parameter_server, index, parameter_server, serving);
  }

  template <class Options>
  caf::actor spawn_and_watch(ActorKind kind, int rank, void (*run)(caf::blocking_actor*, const Options&),
                             const Options& options) {
    const auto counted = [run, threads = options_.threads](caf::blocking_actor* self, const Options& its_options) {
      threads->leave_at_exit();
      run(self, its_options);
    };
    const caf::actor child = self_->spawn<caf::detached>(counted, options);
    options_.threads->add();
    self_->monitor(child);
    children_[child.address()] = {kind, rank, child};
    return child;
  }

  // Workers, reducers and servers tell the driver themselves how they ended; this is for one that could not.
  void child_ended(const caf::down_msg& down) {
    const auto child = children_.find(down.source);
    if (child == children_.end()) return;
    if (down.reason && down.reason != caf::exit_reason::normal) {
      self_->send(driver_, Failed{child->second.kind, child->second.rank, -1, "ended: " + caf::to_string(down.reason),
                                  Blame::own});
    }
    children_.erase(child);
    if (over_ && children_.empty()) quit();
  }

  void quit() {
    if (!ended_) options_.outcome->set_value(outcome_);
    ended_ = true;
    self_->quit();
  }

  caf::event_based_actor* self_;
  NodeOptions options_;
  caf::actor driver_;
  int node_ = 0;
  std::string address_;  // until it is found wrong
  config::Job job_;
  models::ReplicaFactory replicas_;
  std::shared_ptr<PublishedStore> store_;
  std::shared_ptr<LocalRanks> ranks_;
  std::map<caf::actor_addr, Child> children_;
  NodeEnd outcome_;
  bool over_ = false;
  bool ended_ = false;
};

}  // namespace

caf::behavior node(caf::event_based_actor* self, NodeOptions options) {
  const auto state = std::make_shared<Node>(self, std::move(options));
  return {
      [=](const StartWorkers& order) { state->start(order); },
      [=](const Published& message) { state->published(message); },
      [=](const Abort& message) { state->abort(message.reason); },
      [=](const RunOver& message) { state->end(message.failure, false); },
      [=](const DriverLost& message) { state->end(message.reason, true); },
      [=](GraceOver) { state->grace_over(); },
  };
}

}  // namespace tandem::actors
