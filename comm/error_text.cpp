#include "comm/error_text.h"

#include <array>
#include <cstdio>

namespace tandem::comm {
namespace {

std::string seconds_text(Duration duration) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3f s", std::chrono::duration<double>(duration).count());
  return text.data();
}

}  // namespace

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

}  // namespace tandem::comm
