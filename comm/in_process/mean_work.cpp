#include "comm/in_process/mean_work.h"

#include <algorithm>

#include "comm/in_process/group_state.h"

namespace tandem::comm::in_process {
namespace {

// Values a chunk. Small enough to share a sum of a few hundred thousand evenly, large enough (tens of microseconds for
// four ranks) that the counter costs nothing and that a smaller sum is done before another thread could wake up.
constexpr std::size_t kChunk = 32768;

}  // namespace

MeanWork::MeanWork(int ranks, int results_kept) : contributions_(index(ranks)), buffers_(index(results_kept)) {
  terms_.reserve(contributions_.size());
}

void MeanWork::post(int rank, const Contribution& contribution) { contributions_[index(rank)] = contribution; }

std::size_t MeanWork::begin() {
  const Contribution& any = contributions_.front();  // all have the same step and size
  sum_ = next_buffer(any.values.size());
  mean_ = {.step = any.step, .values = sum_, .weight = 0, .finite = true, .non_finite_rank = {}};
  for (const Contribution& contribution : contributions_) mean_.weight += contribution.weight;
  finite_ = true;
  lowest_non_finite_ = static_cast<int>(contributions_.size());
  terms_.clear();
  for (const Contribution& contribution : contributions_) {
    if (contribution.weight == 0) continue;
    terms_.push_back({contribution.values.data(), static_cast<float>(contribution.weight / mean_.weight)});
  }
  return std::max<std::size_t>(1, (sum_.size() + kChunk - 1) / kChunk);
}

std::span<float> MeanWork::next_buffer(std::size_t size) {
  Buffer& buffer = buffers_[calls_++ % buffers_.size()];
  if (buffer.capacity < size) {
    // Not filled with zeros: the ranks that sum touch the pages first, all at once.
    buffer.values = std::make_unique_for_overwrite<float[]>(size);
    buffer.capacity = size;
  }
  return {buffer.values.get(), size};
}

void MeanWork::run(std::size_t chunk) noexcept {
  const std::size_t begin = chunk * kChunk;
  const std::size_t size = std::min(kChunk, sum_.size() - begin);
  if (!weighted_sum(terms_, begin, sum_.subspan(begin, size))) note_non_finite(begin, size);
}

void MeanWork::note_non_finite(std::size_t begin, std::size_t size) {
  finite_ = false;
  for (std::size_t rank = 0; rank < contributions_.size(); ++rank) {
    const Contribution& contribution = contributions_[rank];
    if (contribution.weight == 0 || all_finite(contribution.values.subspan(begin, size))) continue;
    // Other chunks may have found a lower rank, or be about to: keep the minimum.
    int lowest = lowest_non_finite_;
    while (static_cast<int>(rank) < lowest &&
           !lowest_non_finite_.compare_exchange_weak(lowest, static_cast<int>(rank))) {
    }
    return;
  }
}

Mean MeanWork::result() const {
  Mean mean = mean_;
  mean.finite = finite_;
  const int lowest = lowest_non_finite_;
  if (lowest < static_cast<int>(contributions_.size())) mean.non_finite_rank = lowest;
  return mean;
}

}  // namespace tandem::comm::in_process
