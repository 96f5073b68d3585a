#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "actors/run.h"
#include "support/quadratic_replica.h"

namespace tandem::test {

/// Keeps what it is told; calls `on_step_report` with each progress.
class KeepingObserver : public actors::RunObserver {
 public:
  void on_progress(const actors::Progress& report) override {
    progress.push_back(report);
    on_step_report(report);
  }
  void on_test(const actors::TestResult& result) override { tests.push_back(result); }
  void on_warning(const std::string& text) override { warnings.push_back(text); }

  std::function<void(const actors::Progress&)> on_step_report = [](const actors::Progress&) {};
  std::vector<actors::Progress> progress;
  std::vector<actors::TestResult> tests;
  std::vector<std::string> warnings;
};

/// A job for a quadratic: sgd, so many steps.
inline config::Job quadratic_job(int workers, std::int64_t steps, int width, config::Correction correction) {
  config::Job job;
  job.training.workers = workers;
  job.training.epochs = steps;
  job.training.steps = steps;
  job.optimizer.lr = 0.05;
  job.topology.width = width;
  job.topology.correction = correction;
  job.run.evaluate_epochs = false;
  return job;
}

/// However busy the machine is, no actor that ends by itself is taken for stuck.
inline actors::RunOptions patient() {
  actors::RunOptions options;
  options.grace = std::chrono::minutes(5);
  return options;
}

inline actors::RunSummary run_quadratic(const config::Job& job, const std::shared_ptr<Experiment>& experiment) {
  KeepingObserver observer;
  actors::LocalRun run(job, make_quadratic_replicas(job, experiment), observer, patient());
  return run.wait();
}

/// Why the run of such a job fails; throws std::logic_error if it does not, or leaves an actor behind.
inline std::string error_of(const config::Job& job, const std::shared_ptr<Experiment>& experiment) {
  try {
    run_quadratic(job, experiment);
  } catch (const actors::RunError& error) {
    if (error.stuck) throw std::logic_error(std::string("an actor has not ended: ") + error.what());
    return error.what();
  }
  throw std::logic_error("the run did not fail");
}

inline std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace tandem::test
