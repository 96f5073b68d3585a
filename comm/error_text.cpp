#include "comm/error_text.h"

#include <array>
#include <cstdio>
#include <stdexcept>

namespace tandem::comm {

std::string seconds_text(Duration duration) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3f s", std::chrono::duration<double>(duration).count());
  return text.data();
}

std::string waited_text(int rank, Duration elapsed, Duration allowed) {
  return "rank " + std::to_string(rank) + " waited " + seconds_text(elapsed) + ", " + seconds_text(allowed) +
         " is allowed";
}

std::string ranks_text(std::span<const int> ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  return text;
}

std::string difference_text(int rank_a, const std::string& of_a, int rank_b, const std::string& of_b) {
  return "rank " + std::to_string(rank_a) + " came with " + of_a + ", rank " + std::to_string(rank_b) + " with " + of_b;
}

void check_rank(const std::string& operation, int rank, int size) {
  if (rank >= 0 && rank < size) return;
  throw std::invalid_argument(operation + ": there is no rank " + std::to_string(rank) + " in a group of " +
                              std::to_string(size));
}

}  // namespace tandem::comm
