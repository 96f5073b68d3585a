#pragma once

#include <memory>

#include "comm/communicator.h"
#include "comm/peer_group.h"
#include "comm/peer_group/links.h"

namespace tandem::comm::peer_group {

/// Throws std::invalid_argument for options out of range.
void check(const PeerGroupOptions& options);

/// The Communicator on these links, as comm/peer_group.h describes it.
std::unique_ptr<Communicator> make_communicator(std::unique_ptr<Links> links, const PeerGroupOptions& options);

}  // namespace tandem::comm::peer_group
