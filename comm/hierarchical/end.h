#pragma once

#include <memory>

#include "comm/communicator.h"
#include "comm/hierarchical.h"
#include "comm/hierarchical/host.h"

namespace tandem::comm::hierarchical {

/// One rank's end of a group with several hosts, of which some have several ranks. `flat` is its end of the flat group,
/// `local` of the in-process group of its host, null if there are no others on it. Options fit them.
std::unique_ptr<Communicator> make_end(std::unique_ptr<Communicator> flat, std::unique_ptr<Communicator> local,
                                       std::shared_ptr<Host> host, const HierarchicalOptions& options);

}  // namespace tandem::comm::hierarchical
