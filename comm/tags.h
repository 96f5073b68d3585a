#pragma once

#include <cstdint>

namespace tandem::comm {

/// What messages are about: the list of all tags that the program sends with. Those below `first` are nobody's, for
/// tests and for users of a Communicator. The messages' layouts are in comm/wire.h.
enum class Tag : std::uint32_t {
  first = 0x1000,

  /// How a rank comes to a collective on messages: a CallHeader, from every rank to every other.
  call = first,
  /// Part of a contribution, from a rank to the owner of that part (direct).
  contribution,
  /// Part of a sum that is not complete, from a rank to the next (ring).
  partial_sum,
  /// Part of a mean, from its owner (direct), or passed on from a rank to the next (ring).
  mean,

  /// In a hierarchical group. How a rank comes to a collective: a CallHeader, to the others of its host and to the
  /// leaders of other hosts.
  host_call,
  /// The collective is done, and what came of it lies in shared memory: from a leader to the others of its host; empty.
  host_done,

  /// Parameter servers. The state to begin with, from worker 0: each server its part, as float32.
  initial_state = 0x2000,
  /// What a worker wants: a RequestHeader.
  request,
  /// With a request for an update: the worker's gradient, each server its part, encoded (comm/codec.h).
  gradient,
  /// What came of a request: an AnswerHeader.
  answer,
  /// With every answer: the server's part of the state, as float32.
  state,
  /// What a server knows of its part of a mean, to every other server: a PartOfMean.
  part_of_mean,
};

}  // namespace tandem::comm
