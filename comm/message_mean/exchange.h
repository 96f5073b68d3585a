#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "comm/communicator.h"
#include "comm/message_mean.h"
#include "comm/message_mean/mean_step.h"
#include "comm/message_mean/members.h"
#include "comm/message_mean/residual.h"
#include "comm/message_mean/roll_call.h"
#include "comm/message_mean/segment_message.h"

namespace tandem::comm::message_mean {

/// What one member of an exchange keeps from one mean to the next: memory, what it owes, and the means. Owner only, but
/// for the values of means.
class Exchange {
 public:
  /// Options are valid.
  Exchange(int members, const MessageMeanOptions& options);

  /// The mean of what all members contribute. This rank has entered the call in `roll_call`, which knows their weights
  /// in the members' order. `culprit` is the rank to name if this contribution is not finite, if there is one. The
  /// values are valid until the `results_kept`-th next run().
  Mean run(const Members& members, RollCall& roll_call, const Contribution& contribution, std::optional<int> culprit);

 private:
  bool is_short(std::size_t size, int members) const;
  std::span<float> next_mean(std::size_t size);

  const config::Algorithm algorithm_;
  const config::Codec codec_;
  const std::size_t segment_values_;
  const std::size_t whole_values_;
  CodecTime time_;
  Residual residual_;
  SegmentMessage outgoing_;
  SegmentMessage incoming_;
  std::vector<float> sum_;
  std::vector<std::vector<float>> means_;  // used in turn
  std::size_t calls_ = 0;
};

}  // namespace tandem::comm::message_mean
