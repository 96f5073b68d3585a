#pragma once

#include <cstdint>
#include <vector>

#include "scheduler/clock.h"

namespace tandem::scheduler {

/// Counts durations in bins whose widths grow with the duration, so that a run of any length keeps its quantiles in a
/// few kilobytes. A quantile is off by less than 0.8 %. Owner only.
class DurationHistogram {
 public:
  void add(Time duration);

  std::uint64_t count() const { return count_; }
  Time total() const { return total_; }
  /// The smallest duration that at least the share `q` (0 to 1) of all durations do not exceed; 0 without any.
  Time quantile(double q) const;
  Time median() const { return quantile(0.5); }

 private:
  std::vector<std::uint64_t> bins_;
  std::uint64_t count_ = 0;
  Time total_{};
};

}  // namespace tandem::scheduler
