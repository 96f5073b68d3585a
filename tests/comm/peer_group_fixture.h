#pragma once

#include <memory>

#include "comm/contract.h"
#include "comm/peer_group.h"
#include "comm/store.h"

// Groups of processes, over the transport that a test program is built for: its TRANSPORT is make_gloo_communicator or
// make_zeromq_communicator.
namespace tandem::comm::test {

/// One rank's end, as make_gloo_communicator() and make_zeromq_communicator() make them.
std::unique_ptr<Communicator> make_end(Store& store, const PeerGroupOptions& options);

/// A group whose ranks are threads of this process, each with connections of its own, over loopback. Their cards are
/// in `store` under "group".
Group make_peer_group(const GroupOptions& options, Store& store);
Group make_peer_group(const GroupOptions& options);

}  // namespace tandem::comm::test
