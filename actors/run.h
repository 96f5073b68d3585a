#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "config/job.h"
#include "models/replica.h"
#include "scheduler/clock.h"
#include "scheduler/duration_histogram.h"
#include "scheduler/timeline.h"

// Running a job. This header is all that programs need of actors/; it includes no CAF.
namespace tandem::actors {

/// What is known at one moment of a run. Losses are means over the samples since the report before.
struct Progress {
  std::int64_t steps_done = 0;  ///< by every worker; on average, where they share the steps (ps-async without bound)
  std::int64_t total_steps = 0;
  std::int64_t steps_per_epoch = 0;
  double loss = 0;
  double train_accuracy = 0;
  double learning_rate = 0;
  double samples_per_second = 0;
  double training_seconds = 0;  ///< since the first permit, evaluations left out
  double wall_seconds = 0;      ///< since the start of the run
};

/// All workers' evaluations of one moment, put together.
struct TestResult {
  std::int64_t steps_done = 0;
  std::int64_t epoch = 0;  ///< whole epochs done
  double loss = 0;
  double accuracy = 0;
  double training_seconds = 0;
  double wall_seconds = 0;
};

/// Watches a run. on_begin, once, and then on_warning are called on the thread that makes the run, which may block
/// there; an exception is passed on, and there is no run. The others are called on the driver's thread, later, one call
/// at a time; they must not block for long, and an exception ends the run. on_notice tells what happens around the run:
/// nodes that join, strangers that are refused, where it hangs.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  /// Nothing that is known beforehand is in the way of the run: the job fits, and on nodes the driver listens.
  virtual void on_begin() {}
  virtual void on_progress(const Progress& progress) = 0;
  virtual void on_test(const TestResult& result) = 0;
  virtual void on_warning(const std::string& text) = 0;
  virtual void on_notice(const std::string&) {}
};

/// The run in figures. Durations are of all workers together.
struct RunSummary {
  bool interrupted = false;
  std::int64_t steps = 0;  ///< by every worker, or on average
  std::int64_t samples = 0;
  std::int64_t parameters = 0;
  std::int64_t skipped_updates = 0;  ///< steps whose mean gradient was not finite; ps-async: gradients
  double wall_seconds = 0;           ///< from the start of run to its end
  double training_seconds = 0;       ///< from the first permit to the last report of a step, evaluations left out
  std::uint64_t bytes_sent = 0;      ///< by a worker over a network, mean over the workers
  /// ps-async: how many of the servers' answers allowed a step so many steps ahead of the slowest worker's, by that
  /// number; else empty.
  std::vector<std::int64_t> staleness;
  std::uint64_t spans_lost = 0;    ///< older ones that `tracks` no longer holds
  double overlap = 0;              ///< share of the exchange hidden behind compute, mean over the workers
  std::optional<double> loss;      ///< training loss, mean over the samples of the last epoch
  std::optional<TestResult> test;  ///< the last one
  /// From gradient to gradient, evaluations left out; so without each worker's first step, as `compute` and `phases`.
  scheduler::DurationHistogram step;
  scheduler::DurationHistogram compute;  ///< data, forward and backward of a step
  std::vector<scheduler::DurationHistogram> phases =
      std::vector<scheduler::DurationHistogram>(scheduler::phase_count);  ///< by scheduler::Phase
  std::vector<scheduler::Track> tracks;  ///< worker 0, reducer 0, worker 1, ...; server 0 after reducer 0, and so on

  double samples_per_second() const {
    return training_seconds > 0 ? static_cast<double>(samples) / training_seconds : 0.0;
  }
  const scheduler::DurationHistogram& phase(scheduler::Phase p) const { return phases[static_cast<std::size_t>(p)]; }
};

/// Why a run failed: what() names the actor, its rank and step, and its message; further lines what others saw in
/// consequence. `summary` holds what was reported until then.
class RunError : public std::runtime_error {
 public:
  RunError(const std::string& what, RunSummary partial, bool threads_stuck)
      : std::runtime_error(what), summary(std::move(partial)), stuck(threads_stuck) {}
  RunSummary summary;
  /// An actor did not end within the grace time (computing without end, say) and still runs: only leaving the process
  /// ends it.
  bool stuck = false;
};

/// How long actors may take to end once a run was cut short. Whatever hangs, wait() returns within another half second.
inline constexpr scheduler::Time cut_short_grace = std::chrono::seconds(1);

struct RunOptions {
  /// Whether anything is evaluated; off where only time is measured.
  bool evaluate = true;
  /// Spans that are kept of each actor.
  std::size_t spans_kept = 1 << 16;
  /// How long actors may take to end once a run has failed.
  scheduler::Time grace = std::chrono::seconds(3);
  std::shared_ptr<const scheduler::Clock> clock = std::make_shared<scheduler::SteadyClock>();
};

/// One run of a job.
class Run {
 public:
  virtual ~Run() = default;

  /// Waits for the end. Throws RunError if the run failed. To be called once.
  virtual RunSummary wait() = 0;

  /// Ends the run in order: all workers stop after the same step (ps-async: each after its own), with all their updates
  /// applied. From any thread.
  virtual void interrupt() = 0;
  /// Ends the run at once: collectives are aborted, what is in flight is lost. From any thread, also after interrupt().
  virtual void cut_short(const std::string& reason) = 0;
};

/// A run with all its actors in this process, started by the constructor.
class LocalRun final : public Run {
 public:
  /// `observer` must outlive this. Throws config::JobError for a job that needs nodes.
  LocalRun(const config::Job& job, models::ReplicaFactory replicas, RunObserver& observer,
           const RunOptions& options = {});
  /// Cuts the run short if wait() was not called.
  ~LocalRun() override;

  RunSummary wait() override;
  void interrupt() override;
  void cut_short(const std::string& reason) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tandem::actors
