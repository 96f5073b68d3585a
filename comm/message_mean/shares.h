#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

namespace tandem::comm::message_mean {

/// Part of a vector.
struct Range {
  std::size_t begin = 0;
  std::size_t size = 0;

  template <typename Value>
  std::span<Value> of(std::span<Value> values) const {
    return values.subspan(begin, size);
  }
};

/// How a vector is cut into a share for each rank, even and in rank order, and these into segments.
class Shares {
 public:
  Shares(std::size_t size, int ranks, std::size_t segment_values)
      : size_(size), ranks_(static_cast<std::size_t>(ranks)), segment_values_(segment_values) {}

  /// The most segments that any share has.
  std::size_t segments() const { return segments_in((size_ + ranks_ - 1) / ranks_); }
  std::size_t segments(int owner) const { return segments_in(share(owner).size); }

  /// Empty where the share of `owner` has fewer segments.
  Range segment(int owner, std::size_t number) const {
    const Range whole = share(owner);
    const std::size_t skipped = std::min(number * segment_values_, whole.size);
    return {whole.begin + skipped, std::min(segment_values_, whole.size - skipped)};
  }

  Range share(int owner) const {
    const std::size_t begin = begin_of(static_cast<std::size_t>(owner));
    return {begin, begin_of(static_cast<std::size_t>(owner) + 1) - begin};
  }

 private:
  std::size_t segments_in(std::size_t share_size) const { return (share_size + segment_values_ - 1) / segment_values_; }
  std::size_t begin_of(std::size_t owner) const { return size_ / ranks_ * owner + size_ % ranks_ * owner / ranks_; }

  std::size_t size_;
  std::size_t ranks_;
  std::size_t segment_values_;
};

}  // namespace tandem::comm::message_mean
