#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "actors/compute_only.h"
#include "actors/run.h"
#include "config/job_reader.h"
#include "models/torch_replica.h"
#include "scheduler/stability.h"
#include "tools/bench.h"
#include "tools/slowed_replica.h"

namespace tandem::tools {
namespace {

using nlohmann::ordered_json;
using scheduler::DurationHistogram;

struct BenchStepArguments {
  JobArguments job;
  int rounds = 5;
  double seconds = 2;
  std::optional<int> slow_worker;
  double slow_factor = 4;
};

class Silent final : public actors::RunObserver {
 public:
  void on_progress(const actors::Progress&) override {}
  void on_test(const actors::TestResult&) override {}
  void on_warning(const std::string&) override {}
};

models::ReplicaFactory replicas_for(const BenchStepArguments& arguments, const config::Job& job) {
  models::ReplicaFactory replicas = models::make_torch_replicas(job, threads_per_worker(job));
  if (!arguments.slow_worker) return replicas;
  if (*arguments.slow_worker >= job.training.workers) {
    throw config::JobError(
        fmt::format("--slow-worker {}: there are workers 0 to {}", *arguments.slow_worker, job.training.workers - 1));
  }
  return [=, slow = *arguments.slow_worker, factor = arguments.slow_factor](int rank, int world_size) {
    auto replica = replicas(rank, world_size);
    return rank == slow ? slowed(std::move(replica), factor) : std::move(replica);
  };
}

actors::RunSummary train_steps(config::Job job, const models::ReplicaFactory& replicas, std::int64_t steps) {
  job.training.steps = steps;
  job.training.epochs = steps;
  actors::RunOptions options;
  options.evaluate = false;
  Silent observer;
  actors::LocalRun run(job, replicas, observer, options);
  return run.wait();
}

// How many times as long a step takes as one of most workers: where all wait for the slow one, as long as its own.
double slowness_of(const BenchStepArguments& arguments, const config::Job& job) {
  const bool waits = config::is_synchronous(job.topology) || job.topology.staleness;
  return arguments.slow_worker && waits ? arguments.slow_factor : 1;
}

// How many steps fill the time of one measurement.
std::int64_t steps_for(double seconds, const config::Job& job, const models::ReplicaFactory& replicas,
                       double slowness) {
  constexpr std::int64_t trial = 8;
  const double step = scheduler::seconds(actors::compute_only(job, replicas, trial).median());
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(seconds / (step * slowness)), 2 * trial, 100000);
}

// The two are measured in turn, several times, so that a drift of the machine's speed meets both.
int bench_step(const BenchStepArguments& arguments) {
  const config::Job job = arguments.job.read();
  for (const std::string& warning : scheduler::staleness_warnings(job)) fmt::print(stderr, "warning: {}\n", warning);
  const models::ReplicaFactory replicas = replicas_for(arguments, job);
  const std::int64_t steps = steps_for(arguments.seconds, job, replicas, slowness_of(arguments, job));
  std::vector<double> compute, step, step_min, step_mean, step_p99, ratio, samples;
  for (int round = 0; round < arguments.rounds; ++round) {
    compute.push_back(scheduler::seconds(actors::compute_only(job, replicas, steps).median()));
    const actors::RunSummary run = train_steps(job, replicas, steps);
    const DurationHistogram& steps_taken = run.step;
    samples.push_back(run.samples_per_second());
    step.push_back(scheduler::seconds(steps_taken.median()));
    step_min.push_back(scheduler::seconds(steps_taken.quantile(0)));
    step_p99.push_back(scheduler::seconds(steps_taken.quantile(0.99)));
    step_mean.push_back(scheduler::seconds(steps_taken.total()) / static_cast<double>(steps_taken.count()));
    ratio.push_back(step.back() / compute.back());
  }
  const ordered_json json = {
      {"job", job.run.name},
      {"model", name(job.model.kind)},
      {"workers", job.training.workers},
      {"batch", job.training.batch},
      {"topology", name(job.topology.kind)},
      {"width", job.topology.width},
      {"correction", name(job.topology.correction)},
      {"slow_worker", arguments.slow_worker ? ordered_json(*arguments.slow_worker) : ordered_json(nullptr)},
      {"rounds", arguments.rounds},
      {"steps_per_round", steps},
      {"step_seconds", median(step)},
      {"step_seconds_min", *std::min_element(step_min.begin(), step_min.end())},
      {"step_seconds_mean", median(step_mean)},
      {"step_seconds_p99", median(step_p99)},
      {"compute_only_seconds", median(compute)},
      {"ratio", median(ratio)},
      {"ratio_min", *std::min_element(ratio.begin(), ratio.end())},
      {"ratio_max", *std::max_element(ratio.begin(), ratio.end())},
      {"samples_per_second", median(samples)},
  };
  fmt::print("{}\n", json.dump());
  return exit_done;
}

}  // namespace

void add_bench_step(CLI::App& bench, Action& chosen) {
  auto* command = bench.add_subcommand(
      "step",
      "the median time of a step, beside that of the same workers computing all at once and exchanging nothing");
  auto arguments = std::make_shared<BenchStepArguments>();
  arguments->job.add_to(*command);
  command->add_option("--rounds", arguments->rounds, "measurements of each, in turn")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_option("--seconds", arguments->seconds, "length of one measurement")
      ->check(CLI::Range(0.01, 3600.0))
      ->capture_default_str();
  command->add_option("--slow-worker", arguments->slow_worker, "the rank of a worker that is slower than the others")
      ->check(CLI::Range(0, 63));
  command->add_option("--slow-factor", arguments->slow_factor, "how many times as long it takes to compute, 1 to 100")
      ->check([](const std::string& text) {
        double factor = 0;
        const bool allowed = CLI::detail::lexical_cast(text, factor) && factor >= 1 && factor <= 100;
        return allowed ? std::string() : text + " is no number from 1 to 100";
      })
      ->needs("--slow-worker")
      ->capture_default_str();
  command->callback([arguments, &chosen] { chosen = [arguments] { return bench_step(*arguments); }; });
}

}  // namespace tandem::tools
