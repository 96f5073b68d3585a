#pragma once

#include <vector>

#include "config/key.h"

// The conditions under which keys of the schema have an effect.
namespace tandem::config {

/// Where the key `kind` of [data], [model], [schedule] or [optimizer] is this, or one of these.
Effect only_with(DataKind kind);
Effect only_with(ModelKind kind);
Effect only_with(ScheduleKind kind);
Effect only_with(const std::vector<OptimizerKind>& kinds);

/// optimizer.nesterov
Effect only_with_momentum();
/// topology.warmup_steps
Effect only_above_width_1();
/// topology.correction
Effect only_with_gradients_in_flight();
/// topology.staleness
Effect never_with_fixed_staleness();

}  // namespace tandem::config
