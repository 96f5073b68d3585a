#include "actors/node.h"

#include <map>

#include "actors/messages.h"
#include "actors/parameter_server.h"
#include "actors/reducer.h"
#include "actors/worker.h"
#include "comm/in_process.h"
#include "comm/message_mean.h"

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

class Node {
 public:
  Node(caf::event_based_actor* self, NodeOptions options) : self_(self), options_(std::move(options)) {
    self_->set_down_handler([this](caf::down_msg& down) { child_ended(down); });
  }

  // Stays alive whatever goes wrong: abort() must reach those that have been spawned.
  void start(const StartWorkers& order) {
    driver_ = caf::actor_cast<caf::actor>(self_->current_sender());
    try {
      join_ranks();
      WorkersStarted started;
      for (int server = 0; server < servers(); ++server) started.servers.push_back(spawn_server(server));
      for (int rank = order.first_rank; rank < order.first_rank + order.count; ++rank) {
        started.workers.push_back(spawn_worker(rank));
      }
      self_->send(driver_, started);
    } catch (const std::exception& error) {
      self_->send(driver_, Failed{ActorKind::node, 0, -1, error.what(), false});
    }
  }

  void abort(const std::string& reason) {
    if (!ranks_.empty()) ranks_.front()->abort(reason);
    for (const auto& [address, child] : children_) self_->send(caf::actor_cast<caf::actor>(child.handle), Stop{reason});
  }

 private:
  struct Child {
    ActorKind kind = ActorKind::worker;
    int rank = 0;
    caf::actor handle;
  };

  bool has_servers() const { return config::has_parameter_servers(options_.job.topology.kind); }
  int servers() const { return has_servers() ? options_.job.topology.servers : 0; }

  // Workers in rank order, and then parameter servers.
  void join_ranks() {
    const config::Job& job = options_.job;
    comm::InProcessOptions group;
    group.size = job.training.workers + servers();
    group.results_kept = job.topology.width;
    group.deadline =
        std::chrono::duration_cast<comm::Duration>(std::chrono::duration<double>(job.run.exchange_timeout_seconds));
    ranks_ = comm::make_in_process_group(group);
    if (job.topology.algorithm == config::Algorithm::native) return;
    for (auto& end : ranks_) {
      end = comm::with_message_mean(
          std::move(end),
          {.algorithm = job.topology.algorithm, .codec = job.topology.codec, .results_kept = job.topology.width});
    }
  }

  caf::actor spawn_worker(int rank) {
    const config::Job& job = options_.job;
    const auto slots = std::make_shared<GradientSlots>(job.topology.width);
    ReducerOptions reducing;
    reducing.rank = rank;
    reducing.job = job;
    reducing.ranks = ranks_[static_cast<std::size_t>(rank)].get();
    reducing.slots = slots;
    reducing.clock = options_.run.clock;
    reducing.spans_kept = options_.run.spans_kept;
    reducing.driver = driver_;
    WorkerOptions working;
    working.rank = rank;
    working.world_size = job.training.workers;
    working.width = job.topology.width;
    working.prediction = prediction(job.topology.correction);
    working.adopts = has_servers();
    working.ends_apart = !config::is_synchronous(job.topology);
    working.brings_state = has_servers() && rank == 0;
    working.pulls_to_evaluate = has_servers() && working.prediction != models::Prediction::none;
    working.evaluate_epochs = options_.run.evaluate && job.run.evaluate_epochs;
    working.evaluate_end = options_.run.evaluate;
    working.replicas = options_.replicas;
    working.slots = slots;
    working.clock = options_.run.clock;
    working.spans_kept = options_.run.spans_kept;
    working.driver = driver_;
    working.reducer = spawn_and_watch(ActorKind::reducer, rank, reducer, reducing);
    return spawn_and_watch(ActorKind::worker, rank, worker, working);
  }

  caf::actor spawn_server(int index) {
    ParameterServerOptions serving;
    serving.index = index;
    serving.job = options_.job;
    serving.ranks = ranks_[static_cast<std::size_t>(options_.job.training.workers + index)].get();
    serving.clock = options_.run.clock;
    serving.spans_kept = options_.run.spans_kept;
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
      self_->send(driver_,
                  Failed{child->second.kind, child->second.rank, -1, "ended: " + caf::to_string(down.reason), false});
    }
    children_.erase(child);
  }

  caf::event_based_actor* self_;
  NodeOptions options_;
  caf::actor driver_;
  std::vector<std::unique_ptr<comm::Communicator>> ranks_;
  std::map<caf::actor_addr, Child> children_;
};

}  // namespace

caf::behavior node(caf::event_based_actor* self, NodeOptions options) {
  const auto state = std::make_shared<Node>(self, std::move(options));
  return {
      [=](const StartWorkers& order) { state->start(order); },
      [=](const Abort& message) { state->abort(message.reason); },
  };
}

}  // namespace tandem::actors
