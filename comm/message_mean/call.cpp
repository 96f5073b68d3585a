#include "comm/message_mean/call.h"

#include <cmath>
#include <stdexcept>

namespace tandem::comm::message_mean {

std::string call_name(Call call) {
  switch (call) {
    case Call::all_reduce_mean:
      return "all_reduce_mean";
    case Call::broadcast:
      return "broadcast";
    case Call::barrier:
      return "barrier";
  }
  return std::to_string(static_cast<int>(call));
}

std::string call_text(const CallHeader& call, int rank) {
  std::string text = call_name(call.call);
  if (call.call == Call::all_reduce_mean) text += " of step " + std::to_string(call.step);
  return text + " on rank " + std::to_string(rank);
}

CallHeader call_of(const Contribution& contribution, const MessageMeanOptions& options) {
  if (!std::isfinite(contribution.weight) || contribution.weight < 0) {
    throw std::invalid_argument("all_reduce_mean: the weight must be a number of samples, not " +
                                std::to_string(contribution.weight));
  }
  return {.call = Call::all_reduce_mean,
          .algorithm = static_cast<std::uint8_t>(options.algorithm),
          .codec = static_cast<std::uint8_t>(options.codec),
          .step = contribution.step,
          .size = contribution.values.size(),
          .segment_values = options.segment_values,
          .weight = contribution.weight};
}

CallHeader call_of_broadcast(int root, std::size_t size, int ranks) {
  if (root < 0 || root >= ranks) {
    throw std::invalid_argument("broadcast: there is no rank " + std::to_string(root) + " in a group of " +
                                std::to_string(ranks));
  }
  return {.call = Call::broadcast, .root = root, .size = size};
}

}  // namespace tandem::comm::message_mean
