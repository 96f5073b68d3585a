#pragma once

#include <memory>

#include "models/replica.h"

namespace tandem::tools {

/// A replica as on a host that is `factor` (at least 1) times as slow: after each compute() of `inner` it sleeps so
/// long that all has taken `factor` times the time. That costs the other workers no processor.
std::unique_ptr<models::Replica> slowed(std::unique_ptr<models::Replica> inner, double factor);

}  // namespace tandem::tools
