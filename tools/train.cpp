#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <mutex>

#include "actors/run.h"
#include "models/torch_replica.h"
#include "tools/commands.h"
#include "tools/console.h"
#include "tools/interrupts.h"
#include "tools/run_folder.h"

namespace tandem::tools {
namespace {

// Shorter than the patience of Interrupts, so that a run which is cut short can still report.
constexpr scheduler::Time grace = std::chrono::seconds(1);
static_assert(grace < std::chrono::seconds(Interrupts::patience_seconds));

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

 private:
  Console& console_;
  RunFolder& folder_;
};

// Brings signals to the run. Before there is one, a signal just ends the process; after it, signals are ignored, as the
// process is about to end. Safe from any thread.
class Interruptible {
 public:
  // Brings signals to `run` while it lives.
  class During {
   public:
    During(Interruptible& interruptible, actors::LocalRun& run) : interruptible_(interruptible) {
      const std::lock_guard lock(interruptible_.mutex_);
      interruptible_.run_ = &run;
      interruptible_.begun_ = true;
    }
    ~During() { interruptible_.end(); }
    During(const During&) = delete;
    During& operator=(const During&) = delete;

   private:
    Interruptible& interruptible_;
  };

  // The run has ended; what is left is to write its results.
  void end() {
    const std::lock_guard lock(mutex_);
    run_ = nullptr;
  }
  bool ended() const {
    const std::lock_guard lock(mutex_);
    return begun_ && run_ == nullptr;
  }
  void interrupt() {
    act([](actors::LocalRun& run) { run.interrupt(); });
  }
  void cut_short() {
    act([this](actors::LocalRun& run) {
      cut_short_ = true;
      run.cut_short("interrupted");
    });
  }
  bool was_cut_short() const {
    const std::lock_guard lock(mutex_);
    return cut_short_;
  }

 private:
  template <class Act>
  void act(Act act_on) {
    const std::lock_guard lock(mutex_);
    if (!begun_) _exit(exit_interrupted);
    if (run_ != nullptr) act_on(*run_);
  }

  mutable std::mutex mutex_;
  actors::LocalRun* run_ = nullptr;
  bool begun_ = false;
  bool cut_short_ = false;
};

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

int run_job(const config::Job& job, int threads, Interruptible& interruptible) {
  const models::ReplicaFactory replicas = models::make_torch_replicas(job, threads);
  Console console(stdout);
  RunFolder folder(job);
  if (!folder.kept().empty()) console.line(fmt::format("an earlier run is kept as {}", folder.kept().string()));
  console.headline(job, threads);
  Recorder recorder(console, folder);
  actors::RunOptions options;
  options.grace = grace;
  actors::LocalRun run(job, replicas, recorder, options);
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

int train(const JobArguments& arguments) {
  const config::Job job = arguments.read();
  Interruptible interruptible;
  const Interrupts interrupts({.first = [&] { interruptible.interrupt(); },
                               .again = [&] { interruptible.cut_short(); },
                               .ended = [&] { return interruptible.ended(); }});
  return run_job(job, threads_per_worker(job), interruptible);
}

}  // namespace

void add_train(CLI::App& app, Action& chosen) {
  auto* command = app.add_subcommand("train", "run a job on this machine");
  auto arguments = std::make_shared<JobArguments>();
  arguments->add_to(*command);
  command->callback([arguments, &chosen] { chosen = [arguments] { return train(*arguments); }; });
}

}  // namespace tandem::tools
