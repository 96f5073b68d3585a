#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "scheduler/permit_plan.h"

namespace tandem::scheduler {

/// How the steps of a run are given to its workers.
enum class Pace {
  together,  ///< all get the same permits, by what the slowest has done
  own,       ///< each gets permits by what it has done itself; all take the same number of steps in the end
  shared,    ///< the same, but the steps of all workers are one pool, of which a faster worker takes more
};

/// A permit for one worker.
struct WorkerPermit {
  int rank = 0;
  Permit permit;
};

/// The permits of all workers of a run. Pure logic; owner only.
///
/// Pace::shared gives a worker at most an even share of what is left in the pool at a time, so that shares shrink
/// towards the end and all workers end at about the same time.
class RunPermits {
 public:
  /// `plan.total_steps`: of a worker; of Pace::shared on average.
  RunPermits(int workers, Pace pace, const PermitPlanOptions& plan);

  /// Permits to send now. `steps_of`: the steps that each worker is known to have computed.
  std::vector<WorkerPermit> extend(std::span<const Step> steps_of, Time elapsed);

  /// Ends the run at what is granted already, or before: the permits for those that were not granted their last one.
  std::vector<WorkerPermit> close();

  /// See PermitPlan.
  std::optional<std::string> audit(int rank, Step step, Step applied) const;

 private:
  PermitPlan& of(int rank) { return plans_[static_cast<std::size_t>(rank)]; }
  int workers() const { return static_cast<int>(plans_.size()); }
  std::vector<WorkerPermit> extend_shared(std::span<const Step> steps_of, Time elapsed);

  Pace pace_;
  std::vector<PermitPlan> plans_;  // by rank
  Step pool_ = 0;                  // Pace::shared: steps not granted yet
};

}  // namespace tandem::scheduler
