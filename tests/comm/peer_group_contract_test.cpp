#include <cfloat>

#include "comm/contract.h"
#include "comm/message_mean.h"
#include "comm/peer_group_fixture.h"

namespace tandem::comm::test {

Group make_group(const GroupOptions& options) { return make_peer_group(options); }

double mean_tolerance(int ranks) {
  return mean_error_bound(config::Algorithm::direct, config::Codec::none, ranks) / FLT_EPSILON;
}

/// Several segments in each of 13 shares, and broadcasts of several frames.
std::size_t large_size() { return 1'000'003; }

}  // namespace tandem::comm::test
