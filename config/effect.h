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
Effect only_with_a_width_to_reach();
/// topology.staleness
Effect only_with_room_ahead();
/// topology.correction
Effect only_with_stale_gradients();
/// topology.dc_lambda
Effect only_with_delay_compensation();
/// topology.algorithm
Effect only_where_workers_reduce();
/// topology.servers, topology.server_node
Effect only_with_parameter_servers();
/// cluster.silence_seconds
Effect only_below_the_exchange_timeout();

/// The values of topology.correction, topology.algorithm and cluster.silence_seconds where none is given; from the keys
/// before them.
Correction default_correction(const Job& job);
Algorithm default_algorithm(const Job& job);
double default_silence(const Job& job);

}  // namespace tandem::config
