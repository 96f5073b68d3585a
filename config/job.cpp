#include "config/job.h"

#include "config/words.h"

namespace tandem::config {

const char* name(DataKind kind) { return word(kind); }
const char* name(ModelKind kind) { return word(kind); }
const char* name(OptimizerKind kind) { return word(kind); }
const char* name(ScheduleKind kind) { return word(kind); }
const char* name(TopologyKind kind) { return word(kind); }
const char* name(Correction correction) { return word(correction); }

}  // namespace tandem::config
