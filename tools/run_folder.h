#pragma once

#include <filesystem>
#include <fstream>

#include "actors/run.h"
#include "config/job.h"

namespace tandem::tools {

/// How a run ended, for its summary.
struct RunEnding {
  std::string status;  ///< "done", "interrupted" or "failed"
  std::string error;   ///< why it failed, else empty
};

/// The folder of one run: job.toml from the start, metrics.jsonl as the run goes on, timeline.json and summary.json at
/// the end (docs/results.md). Locked while this lives, so that two runs never write into one folder. Owner only. Throws
/// std::runtime_error, with the file's name, where something cannot be written.
class RunFolder {
 public:
  /// Makes the folder. One that an earlier run has left is kept under a new name, NAME.1, NAME.2, ...; see kept().
  explicit RunFolder(const config::Job& job);
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// Where an earlier run's folder was moved to; empty if there was none.
  const std::filesystem::path& kept() const { return kept_; }

  void add(const actors::Progress& progress);
  void add(const actors::TestResult& result);
  void close(const actors::RunSummary& summary, const RunEnding& ending);

 private:
  const config::Job job_;
  std::filesystem::path path_;
  std::filesystem::path kept_;
  int lock_ = -1;
  std::ofstream metrics_;
};

}  // namespace tandem::tools
