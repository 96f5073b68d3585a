#include "comm/zeromq.h"

#include "comm/peer_group/ranks.h"
#include "comm/zeromq/zeromq_links.h"

namespace tandem::comm {

std::unique_ptr<Communicator> make_zeromq_communicator(Store& store, const PeerGroupOptions& options) {
  peer_group::check(options);
  return peer_group::make_communicator(std::make_unique<zeromq::ZeromqLinks>(store, options), options);
}

}  // namespace tandem::comm
