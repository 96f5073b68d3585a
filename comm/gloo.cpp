#include "comm/gloo.h"

#include "comm/gloo/gloo_links.h"
#include "comm/peer_group/ranks.h"

namespace tandem::comm {

std::unique_ptr<Communicator> make_gloo_communicator(Store& store, const PeerGroupOptions& options) {
  peer_group::check(options);
  return peer_group::make_communicator(std::make_unique<gloo_transport::GlooLinks>(store, options), options);
}

}  // namespace tandem::comm
