#pragma once

#include <span>
#include <string>

#include "comm/communicator.h"

// The words of this folder's errors, the same in every implementation.
namespace tandem::comm {

/// "rank 0 waited 0.251 s, 0.250 s is allowed"
std::string waited_text(int rank, Duration elapsed, Duration allowed);

/// "rank 3", or "ranks 1, 3, 4". There must be at least one.
std::string ranks_text(std::span<const int> ranks);

}  // namespace tandem::comm
