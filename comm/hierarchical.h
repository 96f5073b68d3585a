#pragma once

#include <memory>
#include <vector>

#include "comm/communicator.h"
#include "comm/message_mean.h"

namespace tandem::comm {

struct HierarchicalOptions {
  /// The ranks of the whole group by the host that they are on: every rank once, each list ascending. The same on all
  /// hosts, as the rest. The first rank of a list leads its host.
  std::vector<std::vector<int>> hosts;
  /// How the hosts exchange what their ranks sum to, and how many means each rank may hold on to.
  MessageMeanOptions mean = {};
};

/// A group whose ranks are threads of several processes, each process a host: ranks of one host reduce in shared
/// memory, and their leader alone exchanges with the other hosts'. Called on each host, with the ends that its ranks
/// have of a flat group of all ranks, such as one over Gloo, in the order of the ranks; element i is the end of the
/// i-th. The ends of a host may outlive each other. Throws std::invalid_argument if ends and options do not fit each
/// other, or options are out of range.
///
/// all_reduce_mean sums what the ranks of a host have, as an in-process group does (comm/in_process.h), and then is
/// comm/message_mean.h between the leaders: means are encoded by host, not by rank. Only what a leader does counts as
/// encoding, decoding and sending of a mean. Its values lie in shared memory once a host. Every rank tells the others
/// of its host, and the leaders of other hosts, what it has come to: ranks that are late, or that came to something
/// else, are named themselves, on every host.
///
/// Messages, and the bytes of a broadcast, go over the flat group, whose deadline is that of the group. Nobody else may
/// use its ends. A group on one host is an in-process group and needs no flat one, whose ends are destroyed; one with a
/// rank a host is with_message_mean().
std::vector<std::unique_ptr<Communicator>> make_hierarchical_group(std::vector<std::unique_ptr<Communicator>> ends,
                                                                   const HierarchicalOptions& options);

}  // namespace tandem::comm
