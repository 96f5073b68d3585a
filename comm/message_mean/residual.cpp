#include "comm/message_mean/residual.h"

#include <algorithm>

namespace tandem::comm::message_mean {

void Residual::begin(std::size_t size) {
  if (!is_needed_ || size == before_.size()) return;
  before_.assign(size, 0.0F);
  after_.assign(size, 0.0F);
  share = 0;
}

void Residual::keep(Range range) { std::ranges::copy(before(range), after(range).begin()); }

void Residual::add_before(Range range, float factor) {
  const std::span<const float> old = before(range);
  const std::span<float> sum = after(range);
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += factor * old[i];
}

}  // namespace tandem::comm::message_mean
