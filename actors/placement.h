#pragma once

#include <string>
#include <vector>

#include "config/job.h"

namespace tandem::actors {

/// Which ranks a node has.
struct NodeShare {
  int first_rank = 0;
  int workers = 0;
  std::vector<int> servers;  ///< by index
};

/// Which node has which ranks of a run.
struct Placement {
  std::vector<NodeShare> nodes;

  /// The node of each rank: of the workers in rank order, and then of the servers.
  std::vector<int> places() const;
};

/// Spreads the workers over the nodes as evenly as possible, in rank order, and so the parameter servers, unless
/// topology.server_node says where they are. `names` are the nodes'; of several with the name wanted the first counts.
/// Throws std::runtime_error if there is no node of that name, or if a node would have nothing to do.
Placement place(const config::Job& job, const std::vector<std::string>& names);

}  // namespace tandem::actors
