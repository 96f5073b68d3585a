#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <string>
#include <vector>

#include "config/job.h"

// The tandem program: one file a subcommand.
namespace tandem::tools {

/// Exit statuses of every subcommand.
inline constexpr int exit_done = 0;
inline constexpr int exit_failed = 1;
inline constexpr int exit_usage = 2;
inline constexpr int exit_interrupted = 130;

/// Ends the process at once, with what was printed flushed: for a run whose threads cannot be ended (RunError::stuck).
[[noreturn]] void leave(int status);

/// What the command line chose to do; returns the exit status.
using Action = std::function<int()>;

void add_train(CLI::App& app, Action& chosen);
void add_check(CLI::App& app, Action& chosen);
void add_bench(CLI::App& app, Action& chosen);
void add_keygen(CLI::App& app, Action& chosen);
void add_node(CLI::App& app, Action& chosen);

/// The arguments that name a job.
struct JobArguments {
  std::string file;
  std::vector<std::string> overrides;

  /// Adds JOB.toml and --set to `command`.
  void add_to(CLI::App& command);
  /// Reads the job and prints notes to standard error. Throws config::JobError.
  config::Job read() const;
};

/// Of this machine, that this process may use.
int cores();

/// The threads each worker computes with: as the job says, else the machine's cores shared between the workers.
int threads_per_worker(const config::Job& job);

}  // namespace tandem::tools
