#include "config/job.h"

#include <algorithm>

#include "config/words.h"

namespace tandem::config {

std::int64_t total_steps(const Training& training, std::int64_t steps_per_epoch) {
  const std::int64_t steps = training.epochs * steps_per_epoch;
  return training.steps ? std::min(steps, *training.steps) : steps;
}

const char* name(DataKind kind) { return word(kind); }
const char* name(ModelKind kind) { return word(kind); }
const char* name(OptimizerKind kind) { return word(kind); }
const char* name(ScheduleKind kind) { return word(kind); }
const char* name(TopologyKind kind) { return word(kind); }
const char* name(Correction correction) { return word(correction); }

}  // namespace tandem::config
