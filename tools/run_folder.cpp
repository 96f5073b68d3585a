#include "tools/run_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <system_error>

#include "config/job_reader.h"

namespace tandem::tools {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using scheduler::DurationHistogram;
using scheduler::Phase;

[[noreturn]] void cannot_write(const fs::path& file) {
  const std::error_code error(errno, std::generic_category());
  throw std::runtime_error(fmt::format("cannot write {}: {}", file.string(), error.message()));
}

// A reader sees the old file or the whole new one.
template <class Write>
void write_file(const fs::path& file, Write write) {
  const fs::path unfinished = file.string() + ".part";
  std::ofstream out(unfinished, std::ios::trunc);
  write(out);
  out.close();
  if (!out) cannot_write(unfinished);
  fs::rename(unfinished, file);
}

int lock_folder(const fs::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) cannot_write(folder);
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return descriptor;
  ::close(descriptor);
  throw std::runtime_error(fmt::format(
      "another run is writing into {}; give this one a name of its own with --set run.name=NAME", folder.string()));
}

// Moves an earlier run's folder out of the way.
fs::path keep_earlier(const fs::path& folder) {
  if (!fs::exists(folder)) return {};
  const int lock = lock_folder(folder);
  fs::path kept;
  for (int i = 1; kept.empty() || fs::exists(kept); ++i) kept = fmt::format("{}.{}", folder.string(), i);
  fs::rename(folder, kept);
  ::close(lock);
  return kept;
}

void add_line(std::ofstream& metrics, const fs::path& folder, const ordered_json& line) {
  metrics << line << '\n' << std::flush;
  if (!metrics) cannot_write(folder / "metrics.jsonl");
}

ordered_json quantiles(const DurationHistogram& histogram) {
  return {{"median", scheduler::seconds(histogram.median())}, {"p95", scheduler::seconds(histogram.quantile(0.95))}};
}

ordered_json to_json(const config::Job& job, const actors::RunSummary& run, const RunEnding& ending) {
  ordered_json json = {
      {"name", job.run.name},
      {"status", ending.status},
      {"topology", name(job.topology.kind)},
      {"width", job.topology.width},
      {"correction", name(job.topology.correction)},
      {"codec", name(job.topology.codec)},
      {"workers", job.training.workers},
      {"parameters", run.parameters},
      {"steps", run.steps},
      {"samples", run.samples},
      {"skipped_updates", run.skipped_updates},
      {"wall_seconds", run.wall_seconds},
      {"training_seconds", run.training_seconds},
      {"samples_per_second", run.samples_per_second()},
      {"step_seconds", quantiles(run.step)},
      {"compute_seconds", quantiles(run.compute)},
      {"exchange_seconds", quantiles(run.phase(Phase::exchange))},
      {"encode_seconds", quantiles(run.phase(Phase::encode))},
      {"decode_seconds", quantiles(run.phase(Phase::decode))},
      {"wait_seconds", quantiles(run.phase(Phase::wait))},
      {"apply_seconds", quantiles(run.phase(Phase::apply))},
      {"bytes_sent_per_step", run.steps == 0 ? 0 : run.bytes_sent / static_cast<std::uint64_t>(run.steps)},
      {"overlap", run.overlap},
      {"staleness", nullptr},
      {"spans_lost", run.spans_lost},
      {"loss", nullptr},
      {"test_loss", nullptr},
      {"accuracy", nullptr},
  };
  if (!run.staleness.empty()) json["staleness"] = run.staleness;
  if (run.loss) json["loss"] = *run.loss;
  if (run.test) {
    json["test_loss"] = run.test->loss;
    json["accuracy"] = run.test->accuracy;
  }
  if (!ending.error.empty()) json["error"] = ending.error;
  return json;
}

}  // namespace

RunFolder::RunFolder(const config::Job& job) : job_(job), path_(fs::path(job.run.folder) / job.run.name) {
  try {
    kept_ = keep_earlier(path_);
    fs::create_directories(path_);
  } catch (const fs::filesystem_error& error) {
    throw std::runtime_error(
        fmt::format("cannot make the run's folder {}: {}", path_.string(), error.code().message()));
  }
  lock_ = lock_folder(path_);
  write_file(path_ / "job.toml", [&](std::ostream& out) { out << config::to_toml(job_); });
  metrics_.open(path_ / "metrics.jsonl");
  if (!metrics_) cannot_write(path_ / "metrics.jsonl");
}

RunFolder::~RunFolder() { ::close(lock_); }

void RunFolder::add(const actors::Progress& progress) {
  add_line(metrics_, path_,
           {{"step", progress.steps_done},
            {"loss", progress.loss},
            {"train_accuracy", progress.train_accuracy},
            {"lr", progress.learning_rate},
            {"samples_per_second", progress.samples_per_second},
            {"training_seconds", progress.training_seconds},
            {"wall_seconds", progress.wall_seconds}});
}

void RunFolder::add(const actors::TestResult& result) {
  add_line(metrics_, path_,
           {{"step", result.steps_done},
            {"epoch", result.epoch},
            {"test_loss", result.loss},
            {"accuracy", result.accuracy},
            {"training_seconds", result.training_seconds},
            {"wall_seconds", result.wall_seconds}});
}

void RunFolder::close(const actors::RunSummary& summary, const RunEnding& ending) {
  write_file(path_ / "summary.json", [&](std::ostream& out) { out << to_json(job_, summary, ending).dump(2) << '\n'; });
  write_file(path_ / "timeline.json", [&](std::ostream& out) { scheduler::write_chrome_trace(out, summary.tracks); });
}

}  // namespace tandem::tools
