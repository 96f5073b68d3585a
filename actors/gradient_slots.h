#pragma once

#include <span>
#include <vector>

#include "actors/exchange.h"
#include "comm/communicator.h"
#include "scheduler/clock.h"

namespace tandem::actors {

/// One of the K gradient buffers between a worker and its reducer.
struct GradientSlot {
  std::vector<float> gradient;
  double weight = 0;  ///< samples that the gradient is the mean of
  Update update;
  scheduler::Time exchange{};    ///< how long the exchange took
  std::uint64_t bytes_sent = 0;  ///< by the exchange, over a network
};

/// The buffers of one worker and its reducer, which take turns: the worker fills the slot of a step and sends
/// GradientReady; from then on the reducer may write its update, until it sends UpdateReady. The gradient stays
/// readable to both until the worker computes the step K later. The messages order the accesses; there is no lock.
class GradientSlots {
 public:
  explicit GradientSlots(int width) : slots_(static_cast<std::size_t>(width)) {}

  /// `initial_state` is the replica's, read by the reducer before it sends the first UpdateReady or StatePulled.
  void allocate(std::span<const float> initial_state) {
    for (GradientSlot& slot : slots_) slot.gradient.resize(initial_state.size());
    initial_state_ = initial_state;
  }

  GradientSlot& of(comm::Step step) { return slots_[static_cast<std::size_t>(step) % slots_.size()]; }
  std::span<const float> initial_state() const { return initial_state_; }

  /// Written by the reducer before it sends StatePulled.
  std::span<const float> true_state;

 private:
  std::vector<GradientSlot> slots_;
  std::span<const float> initial_state_;
};

}  // namespace tandem::actors
