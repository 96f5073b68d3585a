#pragma once

#include <span>
#include <string>

#include "comm/communicator.h"

// The words of this folder's errors, the same in every implementation.
namespace tandem::comm {

/// "0.251 s"
std::string seconds_text(Duration duration);

/// "rank 0 waited 0.251 s, 0.250 s is allowed"
std::string waited_text(int rank, Duration elapsed, Duration allowed);

/// "rank 3", or "ranks 1, 3, 4". There must be at least one.
std::string ranks_text(std::span<const int> ranks);

/// "rank 1 came with step 7, rank 0 with step 8"
std::string difference_text(int rank_a, const std::string& of_a, int rank_b, const std::string& of_b);

/// Throws std::invalid_argument unless a group of `size` has that rank; `operation` is for the text.
void check_rank(const std::string& operation, int rank, int size);

}  // namespace tandem::comm
