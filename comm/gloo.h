#pragma once

#include <memory>

#include "comm/communicator.h"
#include "comm/peer_group.h"
#include "comm/store.h"

namespace tandem::comm {

/// One rank's end of a group whose ranks may be anywhere (comm/peer_group.h), connected with each other by TCP.
/// Collective: each rank calls it, with a store that all see, which is not used afterwards. Throws
/// std::invalid_argument for options out of range, DeadlineError naming the ranks that did not come in time, and
/// CommError if a connection cannot be made.
///
/// Connections are neither authenticated nor encrypted: they are for networks that are trusted.
///
/// The memory of messages that the receiver has not asked for yet is kept for later ones.
///
/// Threads: beside its user's, an end has two threads, which block all signals. SIGPIPE is never raised.
std::unique_ptr<Communicator> make_gloo_communicator(Store& store, const PeerGroupOptions& options);

}  // namespace tandem::comm
