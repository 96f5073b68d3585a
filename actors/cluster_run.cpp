#include "actors/cluster_run.h"

#include <caf/all.hpp>

#include <algorithm>
#include <utility>

#include "actors/bridge/driver_bridge.h"
#include "actors/bridge/node_bridge.h"
#include "actors/driver.h"
#include "actors/messages.h"
#include "actors/node.h"
#include "actors/placement.h"
#include "actors/system.h"
#include "actors/thread_count.h"
#include "comm/endpoint.h"
#include "comm/interface.h"
#include "config/job_reader.h"
#include "scheduler/stability.h"

namespace tandem::actors {
namespace {

namespace control = comm::control;

// Spans of many workers may wait for a slow network at the end of a run.
constexpr std::size_t backlog = std::size_t{1} << 30;

// For what the driver says last to reach the nodes that do not hang.
constexpr control::Time stuck_closing_limit = std::chrono::milliseconds(200);

control::Rules rules_for(const std::string& version, const config::Cluster& cluster) {
  control::Rules rules;
  rules.version = version;
  rules.backlog = backlog;
  control::Timing& timing = rules.timing;
  timing.silence = scheduler::from_seconds(cluster.silence_seconds);
  timing.heartbeat = std::min(timing.heartbeat, timing.silence / 5);
  timing.reconnect = std::min(timing.reconnect, timing.silence);
  return rules;
}

control::ServerOptions server_options(const config::Job& job, const DriverPlace& place) {
  control::ServerOptions options;
  options.endpoint = place.endpoint;
  options.rules = rules_for(place.version, job.cluster);
  if (place.key) options.keys = control::ServerKeys{*place.key, place.accepted};
  return options;
}

control::ClientOptions client_options(const NodePlace& place) {
  control::ClientOptions options;
  options.endpoint = place.driver;
  options.rules = rules_for(place.self.version, {});
  options.self = place.self;
  options.join_limit = place.join_limit;
  if (place.key) options.keys = control::ClientKeys{*place.key, place.driver_key};
  return options;
}

std::vector<std::string> warnings(const config::Job& job, const DriverPlace& place) {
  std::vector<std::string> warnings = scheduler::staleness_warnings(job);
  if (job.cluster.encrypt_data && !place.key && !comm::is_loopback(comm::host_of(place.endpoint))) {
    warnings.push_back(
        "cluster.encrypt_data without keys for the control plane: who can read that learns the keys of the data");
  }
  return warnings;
}

void check_nodes(const config::Job& job, const DriverPlace& place) {
  check_node_count(job, place.nodes);
  if (!place.names.empty()) actors::place(job, place.names);
}

}  // namespace

struct ClusterRun::Impl {
  System system;
  caf::actor driver;
  std::future<Outcome> outcome;
  std::unique_ptr<DriverBridge> bridge;
};

ClusterRun::ClusterRun(const config::Job& job, const DriverPlace& place, RunObserver& observer,
                       const RunOptions& options)
    : impl_(std::make_unique<Impl>()) {
  check_nodes(job, place);
  auto outcome = std::make_shared<std::promise<Outcome>>();
  impl_->outcome = outcome->get_future();
  impl_->driver = impl_->system.actors().spawn(driver, DriverOptions{.job = job,
                                                                     .run = options,
                                                                     .observer = observer,
                                                                     .nodes = place.nodes,
                                                                     .remote = true,
                                                                     .outcome = std::move(outcome)});
  try {
    impl_->bridge = std::make_unique<DriverBridge>(impl_->system.actors(), server_options(job, place), impl_->driver);
    observer.on_begin();
    for (const std::string& warning : warnings(job, place)) observer.on_warning(warning);
  } catch (...) {
    caf::anon_send_exit(impl_->driver, caf::exit_reason::kill);
    throw;
  }
  caf::anon_send(impl_->driver, Begin{});
}

ClusterRun::~ClusterRun() {
  if (!impl_->outcome.valid()) return;
  cut_short("the run was given up");
  impl_->outcome.get();
}

const std::string& ClusterRun::endpoint() const { return impl_->bridge->endpoint(); }

RunSummary ClusterRun::wait() {
  Outcome outcome = impl_->outcome.get();
  // Nodes have the last word of the driver before anything else is done; those that hang never will.
  if (outcome.stuck) impl_->bridge->close(stuck_closing_limit);
  impl_->bridge.reset();
  // Who is stuck is so in another process.
  if (outcome.failure) throw RunError(*outcome.failure, std::move(outcome.summary), false);
  return std::move(outcome.summary);
}

void ClusterRun::interrupt() { caf::anon_send(impl_->driver, Interrupt{}); }

void ClusterRun::cut_short(const std::string& reason) { caf::anon_send(impl_->driver, CutShort{reason}); }

void ClusterRun::process_ended(std::int64_t pid, const std::string& how) {
  caf::anon_send(impl_->driver, ProcessEnded{pid, how});
}

struct NodeRun::Impl {
  System system;
  std::shared_ptr<ThreadCount> threads = std::make_shared<ThreadCount>();
  caf::actor node;
  std::future<NodeEnd> outcome;
  std::unique_ptr<NodeBridge> bridge;

  NodeEnd take_down() {
    NodeEnd end = outcome.get();
    if (end.stuck) {
      // Who is stuck may still send something.
      (void)bridge.release();
      system.abandon();
    } else {
      bridge.reset();
      threads->await_none();
    }
    return end;
  }
};

NodeRun::NodeRun(const NodePlace& place, ReplicaSource replicas, std::function<void()> joined)
    : impl_(std::make_unique<Impl>()) {
  auto outcome = std::make_shared<std::promise<NodeEnd>>();
  impl_->outcome = outcome->get_future();
  NodeOptions hosting;
  hosting.prepare = [replicas = std::move(replicas)](const std::string& text, int workers) {
    config::Job job = config::parse_job(text, "the driver's job");
    models::ReplicaFactory factory = replicas(job, workers);
    return NodeJob{std::move(job), std::move(factory)};
  };
  hosting.address = [driver = comm::host_of(place.driver)](const std::optional<std::string>& interface) {
    return interface ? comm::address_of_interface(*interface) : comm::local_address_towards(driver);
  };
  hosting.name = name_of(place.self);
  hosting.host = place.self.host;
  hosting.clock = RunOptions{}.clock;
  hosting.grace = place.grace;
  hosting.threads = impl_->threads;
  hosting.outcome = std::move(outcome);
  impl_->node = impl_->system.actors().spawn(node, std::move(hosting));
  try {
    impl_->bridge =
        std::make_unique<NodeBridge>(impl_->system.actors(), client_options(place), impl_->node, std::move(joined));
  } catch (...) {
    leave("cannot join");
    impl_->take_down();
    throw;
  }
}

NodeRun::~NodeRun() {
  if (!impl_->outcome.valid()) return;
  leave("the node was given up");
  impl_->take_down();
}

NodeEnd NodeRun::wait() { return impl_->take_down(); }

void NodeRun::leave(const std::string& reason) { caf::anon_send(impl_->node, DriverLost{reason}); }

}  // namespace tandem::actors
