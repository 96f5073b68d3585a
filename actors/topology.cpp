#include "actors/topology.h"

#include <algorithm>
#include <array>

namespace tandem::actors {
namespace {

using config::TopologyKind;

constexpr std::array rows = {
    TopologyRow{TopologyKind::ps_sync, make_server_exchange},
    TopologyRow{TopologyKind::ps_async, make_server_exchange},
    TopologyRow{TopologyKind::allreduce, make_all_reduce},
    TopologyRow{TopologyKind::pipeline, make_all_reduce},
};

}  // namespace

const TopologyRow& topology(config::TopologyKind kind) {
  return *std::find_if(rows.begin(), rows.end(), [kind](const TopologyRow& row) { return row.kind == kind; });
}

}  // namespace tandem::actors
