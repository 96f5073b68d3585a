#include "scheduler/staleness_gate.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace tandem::scheduler {

StalenessGate::StalenessGate(const Options& options)
    : options_(options), workers_(static_cast<std::size_t>(options.workers)) {
  if (options.bound && *options.bound < options.width - 1) {
    throw std::logic_error("a bound of " + std::to_string(*options.bound) + " steps is below width - 1, " +
                           std::to_string(options.width - 1));
  }
}

void StalenessGate::pushed(int worker) {
  Worker& its = at(worker);
  if (its.waits || its.ended) {
    throw std::logic_error("worker " + std::to_string(worker) + " pushed a gradient out of turn");
  }
  its.waits = true;
  ++its.pushed;
}

void StalenessGate::ended(int worker) { at(worker).ended = true; }

std::vector<StalenessGate::Answer> StalenessGate::due() {
  std::vector<Answer> answers;
  const std::optional<Step> least = least_pushed();
  for (int worker = 0; worker < options_.workers; ++worker) {
    Worker& its = at(worker);
    if (!its.waits) continue;
    const Step step = its.pushed - 1;
    const Step ahead = step + options_.width - least.value_or(its.pushed);
    if (options_.bound && ahead > *options_.bound) continue;
    its.waits = false;
    answers.push_back({worker, step, ahead});
  }
  return answers;
}

bool StalenessGate::holds_any() const {
  return std::any_of(workers_.begin(), workers_.end(), [](const Worker& worker) { return worker.waits; });
}

std::vector<int> StalenessGate::slowest() const {
  std::vector<int> slowest;
  const std::optional<Step> least = least_pushed();
  for (int worker = 0; worker < options_.workers; ++worker) {
    const Worker& its = workers_[static_cast<std::size_t>(worker)];
    if (!its.ended && its.pushed == least) slowest.push_back(worker);
  }
  return slowest;
}

std::optional<Step> StalenessGate::least_pushed() const {
  std::optional<Step> least;
  for (const Worker& worker : workers_) {
    if (!worker.ended) least = std::min(least.value_or(worker.pushed), worker.pushed);
  }
  return least;
}

}  // namespace tandem::scheduler
