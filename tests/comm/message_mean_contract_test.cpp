#include <cfloat>

#include "comm/contract.h"
#include "comm/in_process.h"
#include "comm/message_mean.h"

// The contract over each algorithm and codec: the build makes a program of each, and defines ALGORITHM and CODEC.
namespace tandem::comm::test {
namespace {

constexpr config::Algorithm kAlgorithm = config::Algorithm::ALGORITHM;
constexpr config::Codec kCodec = config::Codec::CODEC;
constexpr std::size_t kSegment = 2500;

}  // namespace

Group make_group(const GroupOptions& options) {
  Group group = make_in_process_group({.size = options.size, .deadline = options.deadline});
  for (auto& end : group) {
    end = with_message_mean(
        std::move(end),
        {.algorithm = kAlgorithm, .codec = kCodec, .results_kept = options.results_kept, .segment_values = kSegment});
  }
  return group;
}

/// Twice the bound, since the contract changes the ranks' weights from call to call.
double mean_tolerance(int ranks) { return 2 * mean_error_bound(kAlgorithm, kCodec, ranks) / FLT_EPSILON; }

/// Several segments in each of 13 shares, of blocks that the last segment has no whole number of.
std::size_t large_size() { return 13 * 3 * kSegment + 7; }

}  // namespace tandem::comm::test
