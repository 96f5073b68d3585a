#pragma once

#include "actors/exchange.h"

namespace tandem::actors {

/// Decides which updates are applied: one that is not finite is skipped (a mean by all ranks alike, since all see the
/// same bits). Too many in a row end the run. Owner only.
class SkipWatch {
 public:
  /// Skips in a row that end the run.
  static constexpr int limit = 5;

  explicit SkipWatch(int rank) : rank_(rank) {}

  /// Updates are to be shown in step order. At the limit throws std::runtime_error that names rank and steps, on the
  /// rank whose gradient is to blame (on rank 0 if none is); the others go on, and are stopped with the run.
  bool is_to_be_applied(const Update& update);

 private:
  int rank_;
  int in_a_row_ = 0;
};

}  // namespace tandem::actors
