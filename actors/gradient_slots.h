#pragma once

#include <memory>
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

  void allocate(std::size_t size) {
    for (GradientSlot& slot : slots_) slot.gradient.resize(size);
  }

  GradientSlot& of(comm::Step step) { return slots_[static_cast<std::size_t>(step) % slots_.size()]; }

  /// Written by the worker before it sends SlotsReady.
  ReplicaState replica;
  /// Written by the reducer before it sends StatePulled.
  std::span<const float> true_state;
  /// The reducer's. It lies here since updates and `true_state` are read where it has them, also when the reducer has
  /// ended.
  std::unique_ptr<Exchange> exchange;

 private:
  std::vector<GradientSlot> slots_;
};

}  // namespace tandem::actors
