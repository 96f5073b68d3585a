#include "comm/in_process/rendezvous.h"

#include <exception>

#include "comm/error_text.h"

namespace tandem::comm::in_process {
namespace {

std::string name(Collective collective) {
  switch (collective) {
    case Collective::all_reduce_mean:
      return "all_reduce_mean";
    case Collective::broadcast:
      return "broadcast";
    case Collective::barrier:
      return "barrier";
  }
  std::terminate();
}

std::string call_text(const Arrival& arrival) {
  std::string text = name(arrival.collective);
  if (arrival.collective == Collective::all_reduce_mean) text += " of step " + std::to_string(arrival.step);
  return text + " on rank " + std::to_string(arrival.rank);
}

/// What differs between two ranks that should have come to the same collective; empty if nothing does.
std::string difference(const Arrival& a, const Arrival& b) {
  const auto differ = [&](const std::string& what, const std::string& of_a, const std::string& of_b) {
    return "rank " + std::to_string(a.rank) + " came with " + what + of_a + ", rank " + std::to_string(b.rank) +
           " with " + what + of_b;
  };
  if (a.collective != b.collective) return differ("", name(a.collective), name(b.collective));
  if (a.step != b.step) return differ("step ", std::to_string(a.step), std::to_string(b.step));
  if (a.root != b.root) return differ("root ", std::to_string(a.root), std::to_string(b.root));
  if (a.size != b.size) return differ("size ", std::to_string(a.size), std::to_string(b.size));
  return "";
}

}  // namespace

Rendezvous::Rendezvous(GroupState& group)
    : group_(group), entered_(index(group.size())), present_(index(group.size())) {}

void Rendezvous::meet(const Arrival& arrival, SharedWork& work) {
  Lock lock(group_.mutex);
  const std::uint64_t number = ++entered_[index(arrival.rank)];
  arrive(lock, arrival, number);
  if (arrived_ == group_.size()) {
    begin_work(lock, arrival, work);
  } else {
    wait_for_others(lock, arrival, number);
  }
  if (working_ && do_chunks(lock, work)) {
    complete(lock);
  } else {
    group_.collective_changed.wait(lock, [&] { return completed_ == number; });
  }
}

void Rendezvous::arrive(const Lock& lock, const Arrival& arrival, std::uint64_t number) {
  if (group_.dead(lock)) throw_failure(lock, arrival, number);
  if (arrived_ == 0) first_ = arrival;
  if (const std::string different = difference(first_, arrival); !different.empty()) {
    failed_ = {number, Flaw::mismatch};
    group_.fail(lock, different);
    throw_failure(lock, arrival, number);
  }
  if (const auto left = group_.left_rank(lock)) {
    group_.fail_left(lock, *left);
    throw_failure(lock, arrival, number);
  }
  present_[index(arrival.rank)] = true;
  ++arrived_;
}

void Rendezvous::begin_work(const Lock& lock, const Arrival& arrival, SharedWork& work) {
  try {
    chunks_ = work.begin();
  } catch (const std::exception& error) {
    const std::string cause = call_text(arrival) + ": " + error.what();
    group_.fail(lock, cause);
    throw CommError(cause);
  }
  next_chunk_ = 0;
  chunks_left_ = chunks_;
  working_ = true;
  // One chunk is done sooner than anybody wakes up.
  if (chunks_ > 1) group_.collective_changed.notify_all();
}

void Rendezvous::wait_for_others(Lock& lock, const Arrival& arrival, std::uint64_t number) {
  const Clock::time_point begin = Clock::now();
  const auto all_here = [&] { return working_ || completed_ == number; };
  group_.collective_changed.wait_until(lock, begin + group_.deadline(),
                                       [&] { return all_here() || group_.dead(lock); });
  if (all_here()) return;
  if (!group_.dead(lock)) {
    failed_ = {number, Flaw::deadline};
    group_.fail(lock, ranks_text(missing_ranks()) + " did not come in time: " +
                          waited_text(arrival.rank, Clock::now() - begin, group_.deadline()));
  }
  throw_failure(lock, arrival, number);
}

bool Rendezvous::do_chunks(Lock& lock, SharedWork& work) {
  lock.unlock();
  bool did_last = false;
  for (std::size_t chunk = next_chunk_++; chunk < chunks_; chunk = next_chunk_++) {
    work.run(chunk);
    // The default order makes what others wrote into their chunks visible to whoever did the last one.
    did_last = --chunks_left_ == 0;
  }
  lock.lock();
  return did_last;
}

void Rendezvous::complete(Lock& lock) {
  ++completed_;
  arrived_ = 0;
  present_.assign(present_.size(), false);
  working_ = false;
  lock.unlock();  // first, so that those who wake up need not wait for it
  group_.collective_changed.notify_all();
}

void Rendezvous::leave(int rank) {
  const Lock lock(group_.mutex);
  group_.leave(lock, rank);
  if (arrived_ > 0) group_.fail_left(lock, rank);
}

void Rendezvous::throw_failure(const Lock& lock, const Arrival& arrival, std::uint64_t number) const {
  if (failed_ && failed_->number == number) {
    const std::string text = call_text(arrival) + ": " + group_.cause(lock);
    if (failed_->flaw == Flaw::mismatch) throw CommError(text);
    // The rank that came too late sees a consequence.
    if (present_[index(arrival.rank)]) throw DeadlineError(text);
  }
  group_.throw_aborted(lock, call_text(arrival));
}

std::vector<int> Rendezvous::missing_ranks() const {
  std::vector<int> missing;
  for (int rank = 0; rank < group_.size(); ++rank) {
    if (!present_[index(rank)]) missing.push_back(rank);
  }
  return missing;
}

}  // namespace tandem::comm::in_process
