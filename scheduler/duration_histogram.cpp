#include "scheduler/duration_histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace tandem::scheduler {
namespace {

// Bins of one nanosecond up to 2^sub_bits; above, 2^(sub_bits-1) bins for each power of two, so a bin is at most 1/64
// of its durations wide and its middle at most 1/128 off.
constexpr int sub_bits = 7;
constexpr std::uint64_t half = 1U << (sub_bits - 1);

std::size_t bin_of(std::uint64_t ns) {
  const int shift = std::max(0, static_cast<int>(std::bit_width(ns)) - sub_bits);
  return static_cast<std::size_t>(shift) * half + (ns >> shift);
}

Time middle_of(std::size_t bin) {
  const std::size_t shift = bin < 2 * half ? 0 : bin / half - 1;
  const std::uint64_t low = (bin - shift * half) << shift;
  const std::uint64_t width = std::uint64_t{1} << shift;
  return Time(static_cast<std::int64_t>(low + (width - 1) / 2));
}

}  // namespace

void DurationHistogram::add(Time duration) {
  const std::size_t bin = bin_of(static_cast<std::uint64_t>(std::max<std::int64_t>(0, duration.count())));
  if (bin >= bins_.size()) bins_.resize(bin + 1);
  ++bins_[bin];
  ++count_;
  total_ += duration;
}

Time DurationHistogram::quantile(double q) const {
  const auto wanted =
      std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::ceil(q * static_cast<double>(count_))));
  std::uint64_t seen = 0;
  for (std::size_t bin = 0; bin < bins_.size(); ++bin) {
    seen += bins_[bin];
    if (seen >= wanted) return middle_of(bin);
  }
  return Time{};
}

}  // namespace tandem::scheduler
