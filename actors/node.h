#pragma once

#include <caf/all.hpp>

#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>

#include "actors/cluster_run.h"
#include "actors/run.h"
#include "actors/thread_count.h"
#include "config/job.h"
#include "models/replica.h"
#include "scheduler/clock.h"

namespace tandem::actors {

/// What a node needs to build replicas of a run.
struct NodeJob {
  config::Job job;
  models::ReplicaFactory replicas;
};

struct NodeOptions {
  /// From StartWorkers::job, and how many workers the node will have. Called once; must not take long.
  std::function<NodeJob(const std::string& job, int workers)> prepare;
  /// Of this host, that other nodes are to connect to, where there are several; by cluster.interface, if set. Called
  /// once; may throw.
  std::function<std::string(const std::optional<std::string>& interface)> address;
  /// For errors on all nodes; empty where there is no other.
  std::string name;
  /// What the host calls itself; empty where there is no other node.
  std::string host;
  std::shared_ptr<const scheduler::Clock> clock;
  /// How long its actors may take to end when the run is over.
  scheduler::Time grace{};
  /// Counts the threads of workers, reducers and parameter servers.
  std::shared_ptr<ThreadCount> threads;
  /// Is set once, when the node has ended.
  std::shared_ptr<std::promise<NodeEnd>> outcome;
};

/// One a host: spawns the workers and reducers of its host, holds the communicators that join them with all others, and
/// unblocks all of them when the run is aborted. It ends when the driver says that the run is over, or is lost. Never
/// blocks.
caf::behavior node(caf::event_based_actor* self, NodeOptions options);

}  // namespace tandem::actors
