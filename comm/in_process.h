#pragma once

#include <memory>
#include <vector>

#include "comm/communicator.h"

namespace tandem::comm {

struct InProcessOptions {
  int size = 1;
  /// How many means each rank may hold on to; see Mean::values.
  int results_kept = 1;
  /// Longest a call may wait for other ranks.
  Duration deadline = std::chrono::seconds(60);
};

/// A group whose ranks are threads of this process; element i is rank i's end. The ends may outlive each other.
///
/// all_reduce_mean reads every contribution where it lies and writes one mean that all ranks share: nothing is copied.
/// The rank that comes last starts to sum; ranks that are awake take chunks off it, and nobody waits for a thread that
/// the kernel has not scheduled.
std::vector<std::unique_ptr<Communicator>> make_in_process_group(const InProcessOptions& options);

}  // namespace tandem::comm
