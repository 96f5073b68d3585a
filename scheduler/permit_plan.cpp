#include "scheduler/permit_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tandem::scheduler {

PermitPlan::PermitPlan(const PermitPlanOptions& options) : options_(options) {}

// Before anything is measured a step may take microseconds or minutes, so the reach is just enough to fill the window.
Step PermitPlan::reach(Step steps_done, Time elapsed) const {
  Step ahead = options_.width + 1;
  if (steps_done > 0 && elapsed.count() > 0) {
    const double per_second = static_cast<double>(steps_done) / seconds(elapsed);
    ahead = std::max(ahead, static_cast<Step>(std::ceil(per_second * seconds(options_.lead))));
  }
  return std::min(options_.total_steps, steps_done + ahead);
}

std::vector<Permit> PermitPlan::extend(Step steps_done, Time elapsed, Step most) {
  std::vector<Permit> permits;
  if (closed_) return permits;
  const Step ahead = std::max<Step>(0, reach(steps_done, elapsed) - granted_);
  const Step target = granted_ + std::min(ahead, most);
  while (granted_ < target) {
    const bool warming_up = granted_ < options_.warmup_steps;
    granted_ = warming_up ? std::min(target, options_.warmup_steps) : target;
    permits.push_back({granted_, warming_up ? 1 : options_.width, false});
  }
  if (granted_ == options_.total_steps) {
    if (permits.empty()) permits.push_back({granted_, width_at(std::max<Step>(0, granted_ - 1)), false});
    permits.back().last = true;
    closed_ = true;
  }
  return permits;
}

Permit PermitPlan::close() {
  closed_ = true;
  return {granted_, width_at(std::max<Step>(0, granted_ - 1)), true};
}

std::optional<std::string> PermitPlan::audit(int rank, Step step, Step applied) const {
  if (step >= granted_) {
    return fmt::format("worker {} computed step {}, but only steps below {} were permitted", rank, step, granted_);
  }
  if (applied > step) {
    return fmt::format("worker {} had applied {} updates before it computed step {}", rank, applied, step);
  }
  const Step in_flight = step - applied + 1;
  const int width = width_at(step);
  if (in_flight <= width) return std::nullopt;
  return fmt::format("worker {} computed step {} with {} updates applied: {} steps in flight, permitted are {}", rank,
                     step, applied, in_flight, width);
}

}  // namespace tandem::scheduler
