#include <fmt/format.h>

#include "config/job_reader.h"
#include "scheduler/stability.h"
#include "tools/commands.h"

namespace tandem::tools {

void add_check(CLI::App& app, Action& chosen) {
  auto* command = app.add_subcommand("check", "validate a job file and print the effective configuration");
  auto arguments = std::make_shared<JobArguments>();
  arguments->add_to(*command);
  command->callback([arguments, &chosen] {
    chosen = [arguments] {
      const config::Job job = arguments->read();
      for (const std::string& warning : scheduler::staleness_warnings(job))
        fmt::print(stderr, "warning: {}\n", warning);
      fmt::print("{}", config::to_toml(job));
      return exit_done;
    };
  });
}

}  // namespace tandem::tools
