#pragma once

#include "comm/contract.h"
#include "comm/gloo.h"

namespace tandem::comm::test {

/// A group over Gloo whose ranks are threads of this process, each with connections of its own, over loopback.
Group make_gloo_group(const GroupOptions& options);

}  // namespace tandem::comm::test
