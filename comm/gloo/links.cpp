#include "comm/gloo/links.h"

#include <algorithm>
#include <array>
#include <exception>
#include <new>
#include <utility>

#include "comm/error_text.h"
#include "comm/gloo/signals.h"

namespace tandem::comm::gloo_transport {
namespace {

// How long those are waited for that do not answer when they are told that the group is dead.
constexpr auto kTelling = std::chrono::seconds(1);

}  // namespace

Links::Links(Store& store, const GlooOptions& options)
    : rank_(options.rank),
      deadline_(options.deadline),
      peers_(static_cast<std::size_t>(options.size)),
      mailbox_(options.size),
      mesh_(options, *this) {
  mesh_.connect(store);
  {
    const Lock lock(mutex_);
    connected_ = true;
  }
  const BlockedSignals blocked;
  service_ = std::thread([this] { serve(); });
}

Links::~Links() {
  {
    Lock lock(mutex_);
    leaving_ = true;
    for (Peer& other : peers_) other.tell_leave = !cause_;
    work_changed_.notify_one();
    wait_until_left(lock);
    stopping_ = true;
    work_changed_.notify_one();
  }
  service_.join();
}

void Links::send(int to, FrameKind kind, std::uint32_t tag, std::span<const std::byte> data) {
  Lock lock(mutex_);
  std::size_t done = 0;
  do {
    if (!cause_ && peer(to).gone()) {
      fail_left(lock, to);
      wait_until_told(lock);
    }
    if (cause_) throw_aborted(lock, send_text(to, kind, tag));
    if (to == rank_) return mailbox_.add(rank_, kind, tag, data);
    reclaim_sent(lock, peer(to));
    FramePointer frame = free_frame(lock);
    lock.unlock();
    const auto part = data.subspan(done, std::min(Frame::capacity, data.size() - done));
    frame->fill({.kind = kind, .tag = tag, .size = part.size(), .message_size = data.size()}, part);
    done += part.size();
    lock.lock();
    const NoPipeSignal none;
    send_frame(lock, to, std::move(frame));
  } while (done < data.size());
}

int Links::receive(const Wanted& wanted, std::span<std::byte> data, Duration limit) {
  Parcel parcel = wait_for(wanted, limit);
  if (parcel.size != data.size()) {
    Lock lock(mutex_);
    const std::string cause = receive_text(wanted) + ": rank " + std::to_string(parcel.from) + " sent " +
                              std::to_string(parcel.size) + " bytes, " + std::to_string(data.size()) + " were expected";
    fail(lock, cause);
    wait_until_told(lock);
    throw CommError(cause);
  }
  parcel.copy_to(data);
  if (!parcel.frames.empty()) {
    const Lock lock(mutex_);
    for (FramePointer& frame : parcel.frames) free_.push_back(std::move(frame));
  }
  return parcel.from;
}

Parcel Links::wait_for(const Wanted& wanted, Duration limit) {
  const Clock::time_point begin = Clock::now();
  Lock lock(mutex_);
  std::optional<Parcel> parcel;
  wanted_ = &wanted;
  mail_changed_.wait_until(lock, begin + limit, [&] {
    if (!cause_) parcel = mailbox_.take(wanted);
    return cause_ || parcel || all_gone(lock, wanted.from);
  });
  wanted_ = nullptr;
  if (!cause_ && !parcel && all_gone(lock, wanted.from)) {
    fail_left(lock, wanted.from.front());
    wait_until_told(lock);
  }
  if (cause_) throw_aborted(lock, receive_text(wanted));
  if (parcel) return std::move(*parcel);
  const std::string cause = receive_text(wanted) + ": " +
                            (wanted.from.size() == 1 ? mesh_.text_of(wanted.from.front()) : ranks_text(wanted.from)) +
                            " sent nothing in time: " + waited_text(rank_, Clock::now() - begin, limit);
  fail(lock, cause);
  wait_until_told(lock);
  throw DeadlineError(cause);
}

void Links::check_alive(const std::string& call) {
  const Lock lock(mutex_);
  if (cause_) throw_aborted(lock, call);
}

void Links::abort(const std::string& reason) noexcept {
  std::string cause;
  try {
    cause = reason;
  } catch (const std::bad_alloc&) {
    cause = "out of memory";  // short enough to need none
  }
  Lock lock(mutex_);
  fail(lock, std::move(cause));
  wait_until_told(lock);
}

void Links::fail(const Lock&, std::string cause) noexcept {
  if (cause_) return;
  cause_ = std::move(cause);
  told_by_ = Clock::now() + kTelling;
  for (Peer& other : peers_) other.tell_abort = true;
  mail_changed_.notify_all();
  work_changed_.notify_all();
  others_changed_.notify_all();
}

void Links::fail_left(const Lock& lock, int rank) { fail(lock, mesh_.text_of(rank) + " has left the group"); }

void Links::wait_until_told(Lock& lock) {
  others_changed_.wait_until(lock, told_by_, [&] {
    for (int rank = 0; rank < static_cast<int>(peers_.size()); ++rank) {
      if (rank != rank_ && !peer(rank).gone() && !peer(rank).dead) return false;
    }
    return true;
  });
}

void Links::wait_until_left(Lock& lock) {
  others_changed_.wait_until(lock, Clock::now() + deadline_, [&] {
    if (cause_) return true;
    for (int rank = 0; rank < static_cast<int>(peers_.size()); ++rank) {
      if (rank != rank_ && !peer(rank).gone() && !peer(rank).seen_left) return false;
    }
    return true;
  });
  if (cause_) wait_until_told(lock);
}

bool Links::all_gone(const Lock&, std::span<const int> ranks) const {
  return std::ranges::all_of(ranks, [&](int rank) { return peer(rank).gone(); });
}

void Links::throw_aborted(const Lock&, const std::string& call) const {
  throw AbortedError(call + ": the group was aborted: " + *cause_);
}

std::string Links::text_of(const Lock&, int rank) const {
  return connected_ ? mesh_.text_of(rank) : ranks_text(std::array{rank});
}

std::string Links::send_text(int to, FrameKind kind, std::uint32_t tag) const {
  const std::string on_rank = " on rank " + std::to_string(rank_);
  if (kind == FrameKind::broadcast) return "broadcast" + on_rank;
  return "send to rank " + std::to_string(to) + " with tag " + std::to_string(tag) + on_rank;
}

std::string Links::receive_text(const Wanted& wanted) const {
  const std::string on_rank = " on rank " + std::to_string(rank_);
  if (wanted.kind == FrameKind::broadcast) return "broadcast" + on_rank;
  return "receive from " + ranks_text(wanted.from) + " with tag " + std::to_string(wanted.tag) + on_rank;
}

}  // namespace tandem::comm::gloo_transport
