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
/// topology.server_node says where they are. `names` are the nodes'. Throws config::JobError if not exactly one node
/// has that name, or if a node would have nothing to do.
Placement place(const config::Job& job, const std::vector<std::string>& names);

/// What place() would not accept, as far as it is known before the nodes are: more of them than there is work for.
/// Throws config::JobError.
void check_node_count(const config::Job& job, int nodes);

/// The same for a run without nodes, which cannot have topology.server_node.
void check_without_nodes(const config::Job& job);

}  // namespace tandem::actors
