#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>

#include "models/torch_replica.h"
#include "tools/cluster_arguments.h"
#include "tools/commands.h"
#include "tools/interrupts.h"

namespace tandem::tools {
namespace {

// The data set is read by the first worker, not by the node, which must stay able to answer.
models::ReplicaFactory read_when_needed(const config::Job& job, int threads) {
  struct Lazy {
    std::once_flag once;
    models::ReplicaFactory factory;
  };
  return [lazy = std::make_shared<Lazy>(), job, threads](int rank, int world_size) {
    std::call_once(lazy->once, [&] { lazy->factory = models::make_torch_replicas(job, threads); });
    return lazy->factory(rank, world_size);
  };
}

actors::ReplicaSource replicas_on(int cores) {
  return [cores](const config::Job& job, int workers) {
    return read_when_needed(job, job.training.threads.value_or(std::max(1, cores / std::max(1, workers))));
  };
}

// Nothing of a node is worth keeping when nobody leads it any more, and a node that hangs would keep it.
void end_with(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // It may have ended before.
  if (getppid() != parent) leave(exit_failed);
}

int node(const NodeArguments& arguments) {
  if (arguments.parent) end_with(*arguments.parent);
  const actors::NodePlace place = arguments.place();
  const auto say = [&](const std::string& text) {
    if (arguments.quiet) return;
    fmt::print("{}\n", text);
    std::fflush(stdout);
  };
  std::atomic<bool> interrupted = false;
  std::atomic<bool> ended = false;
  std::optional<actors::NodeRun> run;
  std::mutex mutex;
  const auto leave_run = [&] {
    const std::lock_guard lock(mutex);
    interrupted = true;
    if (!run) leave(exit_interrupted);
    run->leave("interrupted");
  };
  const Interrupts interrupts(
      {.first = leave_run, .again = [] { leave(exit_interrupted); }, .ended = [&] { return ended.load(); }});
  say(fmt::format("{}: joining {}", name_of(place.self), place.driver));
  {
    const std::lock_guard lock(mutex);
    run.emplace(place, replicas_on(static_cast<int>(place.self.cores)), [&] { say("joined"); });
  }
  const actors::NodeEnd end = run->wait();
  ended = true;
  if (end.failure && (end.driver_lost || !arguments.quiet)) fmt::print(stderr, "error: {}\n", *end.failure);
  if (!end.failure) say("the run is over");
  const int status = interrupted ? exit_interrupted : end.failure ? exit_failed : exit_done;
  if (end.stuck) leave(status);
  return status;
}

}  // namespace

void add_node(CLI::App& app, Action& chosen) {
  auto* command = app.add_subcommand("node", "offer this host to a driver, for one run");
  auto arguments = std::make_shared<NodeArguments>();
  arguments->add_to(*command);
  command->callback([arguments, &chosen] { chosen = [arguments] { return node(*arguments); }; });
}

}  // namespace tandem::tools
