#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "config/job_reader.h"
#include "tools/commands.h"

namespace tandem::tools {

void JobArguments::add_to(CLI::App& command) {
  command.add_option("job", file, "the job file")->required()->type_name("JOB.toml");
  command.add_option("--set", overrides, "replace a value of the job file, as topology.width=3; may be repeated")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->take_all();
}

config::Job JobArguments::read() const {
  std::vector<std::string> notes;
  const config::Job job = config::read_job(file, overrides, &notes);
  for (const std::string& note : notes) fmt::print(stderr, "note: {}\n", note);
  return job;
}

int cores() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

int threads_per_worker(const config::Job& job) {
  return job.training.threads.value_or(std::max(1, cores() / job.training.workers));
}

}  // namespace tandem::tools
