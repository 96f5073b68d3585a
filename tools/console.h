#pragma once

#include <cstdio>
#include <string>

#include "actors/run.h"
#include "config/job.h"

namespace tandem::tools {

/// What a run prints: on a terminal a live line of progress that lasting lines replace, otherwise plain lines. Owner
/// only.
class Console {
 public:
  explicit Console(std::FILE* out);
  ~Console();

  /// `where` the workers are, or with how many threads each.
  void headline(const config::Job& job, const std::string& where);
  void progress(const actors::Progress& progress);
  void test(const actors::TestResult& result);
  /// Where the time went: median, 95th percentile and share of the step of each phase; samples/s; accuracy.
  void closing_table(const actors::RunSummary& summary);
  void line(const std::string& text);
  /// The same on standard error.
  void warning(const std::string& text);

 private:
  void clear_live_line();

  std::FILE* out_;
  bool terminal_;
  bool live_ = false;
};

}  // namespace tandem::tools
