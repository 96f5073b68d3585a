#include <fmt/format.h>

#include <chrono>

#include "actors/cluster_run.h"
#include "actors/run.h"
#include "models/torch_replica.h"
#include "tools/cluster_arguments.h"
#include "tools/commands.h"
#include "tools/console.h"
#include "tools/interruptible.h"
#include "tools/interrupts.h"
#include "tools/local_nodes.h"
#include "tools/run_folder.h"

namespace tandem::tools {
namespace {

// Shorter than the patience of Interrupts, so that a run which is cut short can still report.
constexpr scheduler::Time cut_short_grace = std::chrono::seconds(1);
static_assert(cut_short_grace < std::chrono::seconds(Interrupts::patience_seconds));

class Recorder final : public actors::RunObserver {
 public:
  Recorder(Console& console, RunFolder& folder) : console_(console), folder_(folder) {}

  void on_progress(const actors::Progress& progress) override {
    console_.progress(progress);
    folder_.add(progress);
  }
  void on_test(const actors::TestResult& result) override {
    console_.test(result);
    folder_.add(result);
  }
  void on_warning(const std::string& text) override { console_.warning(text); }
  void on_notice(const std::string& text) override { console_.line(text); }

 private:
  Console& console_;
  RunFolder& folder_;
};

actors::RunOptions run_options() {
  actors::RunOptions options;
  options.cut_short_grace = cut_short_grace;
  return options;
}

void announce(const config::Job& job, const std::string& where, RunFolder& folder, Console& console) {
  if (!folder.kept().empty()) console.line(fmt::format("an earlier run is kept as {}", folder.kept().string()));
  console.headline(job, where);
}

int report_done(const actors::RunSummary& summary, RunFolder& folder, Console& console) {
  console.closing_table(summary);
  folder.close(summary, {summary.interrupted ? "interrupted" : "done", ""});
  console.line(fmt::format("results in {}", folder.path().string()));
  return summary.interrupted ? exit_interrupted : exit_done;
}

int report_failed(const actors::RunError& error, bool cut_short, RunFolder& folder, Console& console) {
  try {
    folder.close(error.summary, {cut_short ? "interrupted" : "failed", error.what()});
    console.line(fmt::format("what was reported until then is in {}", folder.path().string()));
  } catch (const std::exception& unwritten) {
    console.line(unwritten.what());
  }
  fmt::print(stderr, "error: {}\n", error.what());
  const int status = cut_short ? exit_interrupted : exit_failed;
  if (error.stuck) leave(status);
  return status;
}

int wait_for(actors::Run& run, Interruptible& interruptible, RunFolder& folder, Console& console) {
  const Interruptible::During during(interruptible, run);
  try {
    const actors::RunSummary summary = run.wait();
    interruptible.end();
    return report_done(summary, folder, console);
  } catch (const actors::RunError& error) {
    interruptible.end();
    return report_failed(error, interruptible.was_cut_short(), folder, console);
  }
}

int run_here(const config::Job& job, Interruptible& interruptible) {
  const int threads = threads_per_worker(job);
  const models::ReplicaFactory replicas = models::make_torch_replicas(job, threads);
  Console console(stdout);
  RunFolder folder(job);
  announce(job, fmt::format("{} {} each", threads, threads == 1 ? "thread" : "threads"), folder, console);
  Recorder recorder(console, folder);
  actors::LocalRun run(job, replicas, recorder, run_options());
  return wait_for(run, interruptible, folder, console);
}

int run_on_nodes(const config::Job& job, const ClusterArguments& cluster, Interruptible& interruptible) {
  const actors::DriverPlace place = cluster.place();
  Console console(stdout);
  RunFolder folder(job);
  announce(job, fmt::format("on {} {}", place.nodes, place.nodes == 1 ? "node" : "nodes"), folder, console);
  Recorder recorder(console, folder);
  actors::ClusterRun run(job, place, recorder, run_options());
  std::optional<LocalNodes> local;
  if (cluster.local_nodes) {
    local.emplace(LocalNodesOptions{.count = place.nodes, .endpoint = run.endpoint(), .cores = cores()},
                  [&](pid_t process, const std::string& how) { run.process_ended(process, how); });
  }
  return wait_for(run, interruptible, folder, console);
}

int train(const JobArguments& arguments, const ClusterArguments& cluster) {
  const config::Job job = arguments.read();
  Interruptible interruptible;
  const Interrupts interrupts({.first = [&] { interruptible.interrupt(); },
                               .again = [&] { interruptible.cut_short(); },
                               .ended = [&] { return interruptible.ended(); }});
  return cluster.given() ? run_on_nodes(job, cluster, interruptible) : run_here(job, interruptible);
}

}  // namespace

void add_train(CLI::App& app, Action& chosen) {
  auto* command = app.add_subcommand("train", "run a job on this machine, or on nodes");
  auto arguments = std::make_shared<JobArguments>();
  auto cluster = std::make_shared<ClusterArguments>();
  arguments->add_to(*command);
  cluster->add_to(*command);
  command->callback([=, &chosen] { chosen = [=] { return train(*arguments, *cluster); }; });
}

}  // namespace tandem::tools
