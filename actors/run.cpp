#include "actors/run.h"

#include <caf/all.hpp>

#include "actors/driver.h"
#include "actors/messages.h"
#include "actors/node.h"
#include "actors/placement.h"
#include "actors/system.h"
#include "actors/thread_count.h"
#include "scheduler/stability.h"

namespace tandem::actors {
namespace {

std::vector<std::string> warnings(const config::Job& job) {
  std::vector<std::string> warnings = scheduler::staleness_warnings(job);
  if (job.topology.codec != config::Codec::none) {
    warnings.push_back(std::string("topology.codec = \"") + name(job.topology.codec) +
                       "\" saves nothing here: all workers share memory. The run shows its effect on accuracy");
  }
  return warnings;
}

}  // namespace

struct LocalRun::Impl {
  System system;
  std::shared_ptr<ThreadCount> threads = std::make_shared<ThreadCount>();
  caf::actor driver;
  std::future<Outcome> outcome;

  void take_down(const Outcome& end) {
    // Every actor that ends leaves an event for the system's clock, whose queue holds 63. The system's destructor
    // would stop the clock first, and wait for ever for the actors beyond that.
    if (!end.stuck) return threads->await_none();
    // Actors that are stuck hold on to the system, which cannot be taken down under them.
    system.abandon();
  }
};

LocalRun::LocalRun(const config::Job& job, models::ReplicaFactory replicas, RunObserver& observer,
                   const RunOptions& options)
    : impl_(std::make_unique<Impl>()) {
  check_without_nodes(job);
  observer.on_begin();
  for (const std::string& warning : warnings(job)) observer.on_warning(warning);
  auto outcome = std::make_shared<std::promise<Outcome>>();
  impl_->outcome = outcome->get_future();
  caf::actor_system& actors = impl_->system.actors();
  NodeOptions hosting;
  hosting.prepare = [job, replicas = std::move(replicas)](const std::string&, int) { return NodeJob{job, replicas}; };
  hosting.clock = options.clock;
  hosting.grace = options.grace;
  hosting.threads = impl_->threads;
  hosting.outcome = std::make_shared<std::promise<NodeEnd>>();
  const caf::actor host = actors.spawn(node, std::move(hosting));
  impl_->driver = actors.spawn(driver, DriverOptions{.job = job,
                                                     .run = options,
                                                     .observer = observer,
                                                     .nodes = 1,
                                                     .remote = false,
                                                     .outcome = std::move(outcome)});
  caf::anon_send(impl_->driver, Begin{});
  NodeJoined joined;
  joined.node = host;
  caf::anon_send(impl_->driver, joined);
}

LocalRun::~LocalRun() {
  if (!impl_->outcome.valid()) return;
  cut_short("the run was given up");
  impl_->take_down(impl_->outcome.get());
}

RunSummary LocalRun::wait() {
  Outcome outcome = impl_->outcome.get();
  impl_->take_down(outcome);
  if (outcome.failure) throw RunError(*outcome.failure, std::move(outcome.summary), outcome.stuck);
  return std::move(outcome.summary);
}

void LocalRun::interrupt() { caf::anon_send(impl_->driver, Interrupt{}); }

void LocalRun::cut_short(const std::string& reason) { caf::anon_send(impl_->driver, CutShort{reason}); }

}  // namespace tandem::actors
