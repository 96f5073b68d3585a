#pragma once

#include <memory>
#include <vector>

#include "comm/communicator.h"

namespace tandem::comm {

struct InProcessOptions {
  /// At least 1.
  int size = 1;
  /// How many means each rank may hold on to; see Mean::values. At least 1.
  int results_kept = 1;
  /// Longest a call may wait for other ranks; more than zero, at most a year.
  Duration deadline = std::chrono::seconds(60);
};

/// A group whose ranks are threads of this process; element i is rank i's end. The ends may outlive each other; what
/// they share, the means too, lives as long as any of them. Throws std::invalid_argument for options out of range.
///
/// all_reduce_mean reads every contribution where it lies and writes one mean that all ranks share: nothing is copied.
/// The rank that comes last starts to sum; ranks that are awake take chunks off it, and nobody waits for a thread that
/// the kernel has not scheduled. The mean is summed in rank order in float32, each product of a value and the rank's
/// share of the weights rounded before it is added: its bits depend on nothing else. A collective to which all ranks
/// have come succeeds on all of them, whatever happens meanwhile. Messages are copied into mailboxes without bound.
///
/// A destroyed end has left the group. That disturbs nobody as long as nobody needs it: a call that waits for that
/// rank, or sends to it, throws AbortedError naming it, at once.
std::vector<std::unique_ptr<Communicator>> make_in_process_group(const InProcessOptions& options);

}  // namespace tandem::comm
