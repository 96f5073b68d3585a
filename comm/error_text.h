#pragma once

#include <span>
#include <string>

#include "comm/communicator.h"

// The words of this folder's errors, the same in every implementation.
namespace tandem::comm {

/// "0.250 s"
std::string seconds_text(Duration duration);

/// "rank 3", or "ranks 1, 3, 4". There must be at least one.
std::string ranks_text(std::span<const int> ranks);

}  // namespace tandem::comm
