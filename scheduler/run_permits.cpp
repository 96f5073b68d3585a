#include "scheduler/run_permits.h"

#include <algorithm>

namespace tandem::scheduler {
namespace {

// Of a worker whose share of the pool is not known beforehand.
PermitPlanOptions without_end(PermitPlanOptions plan, int workers) {
  plan.total_steps *= workers;
  return plan;
}

}  // namespace

RunPermits::RunPermits(int workers, Pace pace, const PermitPlanOptions& plan)
    : pace_(pace),
      plans_(static_cast<std::size_t>(workers), PermitPlan(pace == Pace::shared ? without_end(plan, workers) : plan)),
      pool_(plan.total_steps * workers) {}

std::vector<WorkerPermit> RunPermits::extend(std::span<const Step> steps_of, Time elapsed) {
  if (pace_ == Pace::shared) return extend_shared(steps_of, elapsed);
  std::vector<WorkerPermit> permits;
  const Step slowest = *std::min_element(steps_of.begin(), steps_of.end());
  for (int rank = 0; rank < workers(); ++rank) {
    const Step done = pace_ == Pace::together ? slowest : steps_of[static_cast<std::size_t>(rank)];
    for (const Permit& permit : of(rank).extend(done, elapsed)) permits.push_back({rank, permit});
  }
  return permits;
}

std::vector<WorkerPermit> RunPermits::extend_shared(std::span<const Step> steps_of, Time elapsed) {
  std::vector<WorkerPermit> permits;
  for (int rank = 0; rank < workers() && pool_ > 0; ++rank) {
    const Step share = (pool_ + workers() - 1) / workers();
    const Step granted = of(rank).granted_until();
    for (const Permit& permit : of(rank).extend(steps_of[static_cast<std::size_t>(rank)], elapsed, share)) {
      permits.push_back({rank, permit});
    }
    pool_ -= of(rank).granted_until() - granted;
  }
  if (pool_ > 0) return permits;
  for (const WorkerPermit& last : close()) permits.push_back(last);
  return permits;
}

std::vector<WorkerPermit> RunPermits::close() {
  std::vector<WorkerPermit> permits;
  for (int rank = 0; rank < workers(); ++rank) {
    if (!of(rank).closed()) permits.push_back({rank, of(rank).close()});
  }
  return permits;
}

std::optional<std::string> RunPermits::audit(int rank, Step step, Step applied) const {
  return plans_[static_cast<std::size_t>(rank)].audit(rank, step, applied);
}

}  // namespace tandem::scheduler
