#include <algorithm>
#include <array>
#include <cfloat>

#include "comm/contract.h"
#include "comm/hierarchical_fixture.h"
#include "comm/in_process.h"

// The contract over ranks on several hosts: the build makes a program of each layout and codec, and defines LAYOUT and
// CODEC.
namespace tandem::comm::test {
namespace {

/// How many ranks the first host has, the second, the first again, and so on.
using Layout = std::array<int, 2>;
constexpr Layout pairs = {2, 2};
constexpr Layout uneven = {3, 1};
constexpr Layout singles = {1, 1};

constexpr config::Codec kCodec = config::Codec::CODEC;
constexpr std::size_t kSegment = 2500;

HierarchicalOptions options_of(const GroupOptions& options) {
  HierarchicalOptions result = {
      .hosts = {}, .mean = {.codec = kCodec, .results_kept = options.results_kept, .segment_values = kSegment}};
  for (int rank = 0; rank < options.size;) {
    std::vector<int>& host = result.hosts.emplace_back();
    const int end = std::min(options.size, rank + LAYOUT[(result.hosts.size() - 1) % LAYOUT.size()]);
    for (; rank < end; ++rank) host.push_back(rank);
  }
  return result;
}

}  // namespace

Group make_group(const GroupOptions& options) {
  return make_hierarchical(make_in_process_group({.size = options.size, .deadline = options.deadline}),
                           options_of(options));
}

/// Twice the bound, since the contract changes the ranks' weights from call to call.
double mean_tolerance(int ranks) {
  return 2 * mean_error_bound(config::Algorithm::direct, kCodec, ranks) / FLT_EPSILON;
}

/// Several segments in each of 13 shares, of blocks that the last segment has no whole number of.
std::size_t large_size() { return 13 * 3 * kSegment + 7; }

}  // namespace tandem::comm::test
