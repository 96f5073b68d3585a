#include "actors/run.h"

#include <caf/all.hpp>

#include "actors/driver.h"
#include "actors/messages.h"
#include "actors/node.h"
#include "actors/thread_count.h"
#include "scheduler/stability.h"

namespace tandem::actors {
namespace {

// CAF's default scheduler steals work by polling, which eats a core; driver and node need little.
struct SystemConfig : caf::actor_system_config {
  SystemConfig() {
    add_message_types<caf::id_block::tandem>();
    set("scheduler.policy", caf::atom("sharing"));
    set("scheduler.max-threads", 2);
  }
};

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
  std::unique_ptr<SystemConfig> config = std::make_unique<SystemConfig>();
  std::unique_ptr<caf::actor_system> system = std::make_unique<caf::actor_system>(*config);
  std::shared_ptr<ThreadCount> threads = std::make_shared<ThreadCount>();
  caf::actor node;
  caf::actor driver;
  std::future<Outcome> outcome;

  void take_down(const Outcome& end) {
    if (!end.stuck) {
      caf::anon_send_exit(node, caf::exit_reason::user_shutdown);
      // Every actor that ends leaves an event for the system's clock, whose queue holds 63. The system's destructor
      // would stop the clock first, and wait for ever for the actors beyond that.
      threads->await_none();
      return;
    }
    // Actors that are stuck hold on to the system, and to what their node owns: neither can be taken down under them.
    (void)system.release();
    (void)config.release();
  }
};

LocalRun::LocalRun(const config::Job& job, models::ReplicaFactory replicas, RunObserver& observer,
                   const RunOptions& options)
    : impl_(std::make_unique<Impl>()) {
  for (const std::string& warning : warnings(job)) observer.on_warning(warning);
  auto outcome = std::make_shared<std::promise<Outcome>>();
  impl_->outcome = outcome->get_future();
  impl_->node = impl_->system->spawn(node, NodeOptions{job, std::move(replicas), options, impl_->threads});
  impl_->driver = impl_->system->spawn(
      driver, DriverOptions{job, observer, options.clock, options.grace, impl_->node, std::move(outcome)});
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
