#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/clock.h"
#include "scheduler/pipeline_window.h"

namespace tandem::scheduler {

struct PermitPlanOptions {
  Step total_steps = 0;
  /// Steps at width 1 before `width` takes effect.
  Step warmup_steps = 0;
  int width = 1;
  /// How far permits reach ahead of the slowest worker: long enough that no step waits for the driver, short enough
  /// that a run can be ended in order soon.
  Time lead = std::chrono::milliseconds(500);
};

/// The driver's side of the window: grants permits to a worker, or to several alike, ahead of need, and audits that
/// each step stayed within its width. Pure logic; owner only.
class PermitPlan {
 public:
  explicit PermitPlan(const PermitPlanOptions& options);

  /// Permits to send now, for at most `most` steps, given that `steps_done` are known to be computed after `elapsed` of
  /// training. Often none.
  std::vector<Permit> extend(Step steps_done, Time elapsed, Step most = std::numeric_limits<Step>::max());

  /// Ends the run at what is granted already; the permit to send.
  Permit close();

  Step granted_until() const { return granted_; }
  bool closed() const { return closed_; }

  /// The width at which `step` was granted.
  int width_at(Step step) const { return step < options_.warmup_steps ? 1 : options_.width; }

  /// Checks a step that a worker computed after it had applied `applied` updates: never more than its width in flight,
  /// itself included, and never without a permit. Returns what is wrong.
  std::optional<std::string> audit(int rank, Step step, Step applied) const;

 private:
  Step reach(Step steps_done, Time elapsed) const;

  PermitPlanOptions options_;
  Step granted_ = 0;
  bool closed_ = false;
};

}  // namespace tandem::scheduler
