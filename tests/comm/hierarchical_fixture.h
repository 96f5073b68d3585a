#pragma once

#include <vector>

#include "comm/contract.h"
#include "comm/hierarchical.h"

namespace tandem::comm::test {

/// The ends of a hierarchical group on all its hosts, by rank; `flat` has those of all ranks.
Group make_hierarchical(Group flat, const HierarchicalOptions& options);

}  // namespace tandem::comm::test
