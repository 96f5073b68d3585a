#pragma once

#include <memory>

#include "comm/communicator.h"
#include "comm/gloo.h"
#include "comm/store.h"

namespace tandem::comm::gloo_transport {

/// A Communicator all but for means and for checking that ranks meet in the same collective, which with_message_mean()
/// adds: its all_reduce_mean throws std::logic_error, and its broadcast and barrier trust that all come to the same.
/// Options are valid. Errors are those of make_gloo_communicator().
std::unique_ptr<Communicator> make_ranks(Store& store, const GlooOptions& options);

}  // namespace tandem::comm::gloo_transport
