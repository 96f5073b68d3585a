#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <utility>

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

// A run that is cut short can still report.
static_assert(actors::cut_short_grace + std::chrono::milliseconds(500) <
              std::chrono::seconds(Interrupts::last_patience_seconds));

// Prints and writes down what happens. The folder is made when the run begins.
class Recorder final : public actors::RunObserver {
 public:
  // `where` the workers are, or with how many threads each.
  Recorder(const config::Job& job, std::string where) : job_(job), where_(std::move(where)), console_(stdout) {}

  void on_begin() override {
    folder_.emplace(job_);
    if (!folder_->kept().empty()) console_.line(fmt::format("an earlier run is kept as {}", folder_->kept().string()));
    console_.headline(job_, where_);
  }
  void on_progress(const actors::Progress& progress) override {
    console_.progress(progress);
    folder_->add(progress);
  }
  void on_test(const actors::TestResult& result) override {
    console_.test(result);
    folder_->add(result);
  }
  void on_warning(const std::string& text) override { console_.warning(text); }
  void on_notice(const std::string& text) override { console_.line(text); }

  // Returns the exit status, as report_failed().
  int report_done(const actors::RunSummary& summary) {
    console_.closing_table(summary);
    folder_->close(summary, {summary.interrupted ? "interrupted" : "done", ""});
    console_.line(fmt::format("results in {}", folder_->path().string()));
    return summary.interrupted ? exit_interrupted : exit_done;
  }

  int report_failed(const actors::RunError& error, bool cut_short) {
    try {
      folder_->close(error.summary, {cut_short ? "interrupted" : "failed", error.what()});
      console_.line(fmt::format("what was reported until then is in {}", folder_->path().string()));
    } catch (const std::exception& unwritten) {
      console_.line(unwritten.what());
    }
    fmt::print(stderr, "error: {}\n", error.what());
    const int status = cut_short ? exit_interrupted : exit_failed;
    if (error.stuck) leave(status);
    return status;
  }

 private:
  const config::Job& job_;
  const std::string where_;
  Console console_;
  std::optional<RunFolder> folder_;
};

int wait_for(actors::Run& run, Interruptible& interruptible, Recorder& recorder) {
  try {
    const actors::RunSummary summary = run.wait();
    interruptible.end();
    return recorder.report_done(summary);
  } catch (const actors::RunError& error) {
    interruptible.end();
    return recorder.report_failed(error, interruptible.was_cut_short());
  }
}

int run_here(const config::Job& job, Interruptible& interruptible) {
  const int threads = threads_per_worker(job);
  const models::ReplicaFactory replicas = models::make_torch_replicas(job, threads);
  Recorder recorder(job, fmt::format("{} {} each", threads, threads == 1 ? "thread" : "threads"));
  actors::LocalRun run(job, replicas, recorder);
  const Interruptible::During during(interruptible, run);
  return wait_for(run, interruptible, recorder);
}

int run_on_nodes(const config::Job& job, const ClusterArguments& cluster, Interruptible& interruptible) {
  const actors::DriverPlace place = cluster.place();
  Recorder recorder(job, fmt::format("on {} {}", place.nodes, place.nodes == 1 ? "node" : "nodes"));
  actors::ClusterRun run(job, place, recorder);
  const Interruptible::During during(interruptible, run);
  std::optional<LocalNodes> local;
  if (cluster.local_nodes) {
    local.emplace(LocalNodesOptions{.count = place.nodes, .endpoint = run.endpoint(), .cores = cores()},
                  [&](pid_t process, const std::string& how) { run.process_ended(process, how); });
  }
  return wait_for(run, interruptible, recorder);
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
