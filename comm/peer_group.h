#pragma once

#include <string>

#include "comm/communicator.h"

// Groups whose ranks are processes, anywhere: what those over Gloo (comm/gloo.h) and over ZeroMQ (comm/zeromq.h) have
// in common.
//
// all_reduce_mean is `direct` without a codec (comm/message_mean.h), with the bits of an in-process group.
//
// A message is copied once where it is sent, and once where it is received, beside what the library itself copies;
// sending waits for nobody. What the receiver has not asked for yet lies with it, in memory that is not bounded.
//
// A rank whose process ends or whose connection breaks ends the group at once: every call on other ranks throws an
// error naming it. One that hangs is found at the deadline. What a failed call, or abort(), tells the others has
// reached them when it returns; it waits for one that does not answer, a second at most.
//
// A destroyed end has left the group, as in an in-process group. Its destructor waits until the others have got its
// messages, at most for the deadline; in a dead group, a second at most.
namespace tandem::comm {

struct PeerGroupOptions {
  int rank = 0;
  /// At least 1.
  int size = 1;
  /// The address of this host, as text, that the other ranks connect to (comm/interface.h). Ports are chosen by the
  /// kernel. A rank alone needs none.
  std::string address = {};
  /// What this group's keys in the store begin with; no two groups share it.
  std::string key_prefix = {};
  /// Of this rank, for errors on all ranks, such as "host b": they say "rank 2 (host b)". May be empty.
  std::string name = {};
  /// How many means each rank may hold on to; see Mean::values. At least 1.
  int results_kept = 1;
  /// Longest a call may wait for other ranks; more than zero, at most a year.
  Duration deadline = std::chrono::seconds(60);
  /// The same for making the group.
  Duration connect_deadline = std::chrono::seconds(60);
};

}  // namespace tandem::comm
