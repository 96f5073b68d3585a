#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "comm/communicator.h"
#include "comm/in_process/group_state.h"
#include "comm/in_process/shared_work.h"

// Where the ranks of an in-process group meet in collectives.
//
// A collective goes through these states:
//   gathering  ranks arrive and wait. An arrival that does not match the first one, a deadline, an abort or the leaving
//              of a rank kills the group now, and only now.
//   working    all ranks have arrived. The last to arrive does chunks of the shared work; ranks that wake up meanwhile
//              take chunks off it. No rank leaves before the last chunk is done, even if the group is aborted, because
//              others read its memory; nobody waits for a rank, only for chunks that a running thread has begun.
//   completed  whoever did the last chunk says so and wakes those who wait. The collective succeeds on every rank,
//              whatever happens to the group afterwards.
// Waiting never spins or yields: beside workers that compute on every core, a thread that yields gets a core back
// milliseconds after one that sleeps and is woken.
namespace tandem::comm::in_process {

enum class Collective { all_reduce_mean, broadcast, barrier };

/// How one rank comes to a collective; everything but the rank must be the same on all ranks.
struct Arrival {
  int rank = 0;
  Collective collective = Collective::barrier;
  Step step = 0;
  /// Values of a mean, bytes of a broadcast.
  std::size_t size = 0;
  int root = 0;
};

class Rendezvous {
 public:
  explicit Rendezvous(GroupState& group);

  /// Returns when all ranks have come and `work`, which must be the same object on all ranks, is done. Called by each
  /// rank from one thread at a time. Throws CommError, DeadlineError or AbortedError as communicator.h says.
  void meet(const Arrival& arrival, SharedWork& work);

  /// That rank's end is gone: ranks that wait for it, or would, fail.
  void leave(int rank);

 private:
  enum class Flaw { mismatch, deadline };
  /// The collective that killed the group, by number.
  struct FailedCollective {
    std::uint64_t number;
    Flaw flaw;
  };

  void arrive(const Lock& lock, const Arrival& arrival, std::uint64_t number);
  void begin_work(const Lock& lock, const Arrival& arrival, SharedWork& work);
  void wait_for_others(Lock& lock, const Arrival& arrival, std::uint64_t number);
  /// With the mutex released; true on the one rank that did the last chunk.
  bool do_chunks(Lock& lock, SharedWork& work);
  void complete(Lock& lock);
  [[noreturn]] void throw_failure(const Lock& lock, const Arrival& arrival, std::uint64_t number) const;
  std::vector<int> missing_ranks() const;

  GroupState& group_;

  // Guarded by group_.mutex. Collectives are numbered from 1.
  std::vector<std::uint64_t> entered_;  // by rank: number of the collective it is in, or was in last
  std::vector<bool> present_;           // by rank: has arrived in the collective that gathers or works
  int arrived_ = 0;
  Arrival first_;
  bool working_ = false;
  std::uint64_t completed_ = 0;
  std::optional<FailedCollective> failed_;

  // chunks_ changes only while all ranks are in begin_work() or wait_for_others().
  std::size_t chunks_ = 0;
  std::atomic<std::size_t> next_chunk_ = 0;
  std::atomic<std::size_t> chunks_left_ = 0;
};

}  // namespace tandem::comm::in_process
