#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "comm/message_mean/shares.h"

namespace tandem::comm::message_mean {

/// What one rank has lost by quantizing and owes to the next call, for every position of the vector: for those of its
/// own share, what it lost of their mean, and for the others, of what it sent to their owners. A call writes what will
/// be owed after it beside what was owed before, until it is known whether the call counts.
///
/// Owner only.
class Residual {
 public:
  /// Without a codec nothing is ever owed: there is no memory for it, and all spans are empty.
  explicit Residual(bool is_needed) : is_needed_(is_needed) {}

  /// Begins a call on vectors of `size`; if that is another size than before, nothing is owed.
  void begin(std::size_t size);

  std::span<const float> before(Range range) const { return part<const float>(before_, range); }
  std::span<float> after(Range range) { return part<float>(after_, range); }

  /// after = before
  void keep(Range range);
  /// after += factor * before
  void add_before(Range range, float factor);

  /// The call counts; all of `after` has been written.
  void commit() { before_.swap(after_); }

  /// `direct`: what this rank's contribution counted in the mean when the residuals of contributions were last
  /// written; 0 if they never were.
  double share = 0;

 private:
  template <typename Value, typename Vector>
  std::span<Value> part(Vector& vector, Range range) const {
    if (!is_needed_) return {};
    return range.of(std::span<Value>(vector));
  }

  bool is_needed_;
  std::vector<float> before_;
  std::vector<float> after_;
};

}  // namespace tandem::comm::message_mean
