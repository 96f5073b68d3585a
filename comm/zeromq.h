#pragma once

#include <memory>

#include "comm/communicator.h"
#include "comm/peer_group.h"
#include "comm/store.h"

namespace tandem::comm {

/// One rank's end of a group whose ranks may be anywhere (comm/peer_group.h), connected with each other by ZeroMQ over
/// TCP, for networks that are not trusted. Collective: each rank calls it, with a store that all see, which is not used
/// afterwards. Throws std::invalid_argument for options out of range, DeadlineError naming the ranks that did not come
/// in time, and CommError if a connection cannot be made.
///
/// Every connection is authenticated at both ends, and encrypted (CURVE): each rank makes a pair of keys for this group
/// alone, and leaves the public key in the store. Whoever may write to the store before a rank does may take its place,
/// so the way to the store must be trusted; nothing else need be. Connections of others are refused, and do not disturb
/// the group; one rank cannot speak for another. Who watches the network sees who sends how much to whom and when, and
/// who can change what passes there can end the group.
///
/// Threads: beside its user's, an end has four threads: three of ZeroMQ, and one that blocks all signals as those do.
std::unique_ptr<Communicator> make_zeromq_communicator(Store& store, const PeerGroupOptions& options);

}  // namespace tandem::comm
