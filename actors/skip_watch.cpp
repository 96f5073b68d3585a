#include "actors/skip_watch.h"

#include <fmt/format.h>

namespace tandem::actors {

bool SkipWatch::is_to_be_applied(const Update& update) {
  if (update.weight == 0) return false;
  if (update.finite) {
    in_a_row_ = 0;
    return true;
  }
  if (++in_a_row_ >= limit && rank_ == update.non_finite_rank.value_or(0)) {
    const std::string cause = update.non_finite_rank
                                  ? fmt::format("the gradient of rank {} is NaN or infinite", *update.non_finite_rank)
                                  : std::string("the gradients of all ranks are finite, their sum is not");
    throw std::runtime_error(fmt::format("the update was not finite in {} steps in a row, {} to {}; at step {} {}",
                                         in_a_row_, update.step - in_a_row_ + 1, update.step, update.step, cause));
  }
  return false;
}

}  // namespace tandem::actors
