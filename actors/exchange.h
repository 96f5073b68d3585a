#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "comm/communicator.h"
#include "config/job.h"
#include "scheduler/clock.h"

namespace tandem::actors {

/// What a gradient turns into.
struct Update {
  comm::Step step = 0;
  /// The mean gradient; or, where parameter servers hold the optimizer, the state vector to compute with next. Valid
  /// until the width-th next exchange.
  std::span<const float> values;
  /// Samples behind it. Without any it is not applied.
  double weight = 0;
  /// False if it is NaN or infinite somewhere, and so is not applied.
  bool finite = true;
  /// The lowest rank whose gradient is not finite itself.
  std::optional<int> non_finite_rank;
  /// ps-async: steps that the step begun with it is ahead of the slowest worker's.
  std::optional<comm::Step> ahead;
  /// Of the exchange's time, what the codec took on this rank.
  comm::Duration encoding = comm::Duration::zero();
  comm::Duration decoding = comm::Duration::zero();
};

/// A reducer's way of exchanging. Used on the reducer's thread; errors are those of comm/communicator.h.
class Exchange {
 public:
  virtual ~Exchange() = default;

  /// Turns one rank's gradient into the update that it applies. Blocks.
  virtual Update exchange(const comm::Contribution& gradient) = 0;

  /// The true state vector, where parameter servers hold it, valid until the next call; empty where each worker holds
  /// it. With `last`, all workers ask, and all get the one that is left when none goes on.
  virtual std::span<const float> true_state(bool last) = 0;
};

/// What a replica's state vector is like (models/replica.h).
struct ReplicaState {
  std::size_t size = 0;
  std::size_t parameter_count = 0;
  /// Before the first step; empty on ranks that bring it to nobody.
  std::vector<float> initial;
};

struct ExchangeOptions {
  config::Job job;
  /// This rank's end: of the workers, in rank order, and then of the parameter servers.
  comm::Communicator* ranks = nullptr;
  ReplicaState replica;
  std::shared_ptr<const scheduler::Clock> clock;
};

/// AllReduce of the mean among all ranks.
std::unique_ptr<Exchange> make_all_reduce(ExchangeOptions options);

/// Pushes gradients to the parameter servers, each its part of the vector, and pulls the weights; see
/// actors/parameter_server.h. The rank that has the initial state brings it to them at once.
std::unique_ptr<Exchange> make_server_exchange(ExchangeOptions options);

}  // namespace tandem::actors
