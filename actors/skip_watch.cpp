#include "actors/skip_watch.h"

#include <fmt/format.h>

namespace tandem::actors {

bool SkipWatch::is_to_be_applied(const comm::Mean& mean) {
  if (mean.weight == 0) return false;
  if (mean.finite) {
    in_a_row_ = 0;
    return true;
  }
  if (++in_a_row_ >= limit && rank_ == mean.non_finite_rank.value_or(0)) {
    const std::string cause = mean.non_finite_rank
                                  ? fmt::format("the gradient of rank {} is NaN or infinite", *mean.non_finite_rank)
                                  : std::string("the gradients of all ranks are finite, their sum is not");
    throw std::runtime_error(
        fmt::format("the mean gradient was not finite in {} steps in a row, {} to {}; at step {} {}", in_a_row_,
                    mean.step - in_a_row_ + 1, mean.step, mean.step, cause));
  }
  return false;
}

}  // namespace tandem::actors
