#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/run.h"
#include "comm/control/node.h"
#include "comm/keys.h"

// A run over several processes: one drives it (ClusterRun), the others are its nodes (NodeRun). Includes no CAF.
namespace tandem::actors {

struct DriverPlace {
  /// Where it listens for nodes: "tcp://ADDRESS:PORT"; see comm/control/control_server.h.
  std::string endpoint;
  /// With them only nodes that hold the secret key of an accepted public key may join.
  std::optional<comm::KeyPair> key;
  std::vector<std::string> accepted;
  /// Of the program; nodes must have the same.
  std::string version;
  /// How many nodes are waited for, at least 1.
  int nodes = 1;
  /// Of the nodes, where they are known beforehand; else empty.
  std::vector<std::string> names = {};
};

/// A run whose workers are on nodes; this process drives it.
class ClusterRun final : public Run {
 public:
  /// Listens, and starts the run when the nodes are there. `observer` must outlive this. Throws config::JobError if it
  /// is known already that the job does not fit the nodes, std::runtime_error if it cannot listen.
  ClusterRun(const config::Job& job, const DriverPlace& place, RunObserver& observer, const RunOptions& options = {});
  /// Cuts the run short if wait() was not called. Nodes are told of the end.
  ~ClusterRun() override;

  /// Where nodes find it, with the port that it got.
  const std::string& endpoint() const;

  RunSummary wait() override;
  void interrupt() override;
  void cut_short(const std::string& reason) override;

  /// A process that this one started to be a node has ended; `how` in words that follow its name. Sooner than the
  /// network would tell. From any thread.
  void process_ended(std::int64_t pid, const std::string& how);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// How a node ended.
struct NodeEnd {
  /// What went wrong in the run, the cause first; unset if nothing did.
  std::optional<std::string> failure;
  /// It was not the driver who said so: it is gone, or could not be reached.
  bool driver_lost = false;
  /// An actor has not ended and still runs: only leaving the process ends it.
  bool stuck = false;
};

struct NodePlace {
  /// Of the driver, "tcp://HOST:PORT".
  std::string driver;
  /// With them the node proves who it is, and joins only the driver with that public key.
  std::optional<comm::KeyPair> key;
  std::string driver_key;
  /// What the driver is told of this process; its version must be the driver's.
  comm::control::NodeInfo self;
  /// How long the driver is tried for.
  scheduler::Time join_limit = std::chrono::seconds(30);
  /// How long its actors may take to end when the run is over.
  scheduler::Time grace = RunOptions{}.grace;
};

/// Makes the replicas of a run, for a node that has so many workers of it.
using ReplicaSource = std::function<models::ReplicaFactory(const config::Job& job, int workers)>;

/// This process as a node of a run that another drives.
class NodeRun {
 public:
  /// Begins to join. `joined` is called once, on another thread. Throws std::runtime_error if the place is none.
  NodeRun(const NodePlace& place, ReplicaSource replicas, std::function<void()> joined);
  ~NodeRun();
  NodeRun(const NodeRun&) = delete;
  NodeRun& operator=(const NodeRun&) = delete;

  /// Waits for the end of the run. To be called once.
  NodeEnd wait();

  /// Ends this node, and so the run. From any thread.
  void leave(const std::string& reason);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tandem::actors
