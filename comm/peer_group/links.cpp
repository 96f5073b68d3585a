#include "comm/peer_group/links.h"

#include <algorithm>
#include <exception>
#include <new>
#include <stdexcept>
#include <utility>

#include "comm/error_text.h"

namespace tandem::comm::peer_group {
namespace {

// How long those are waited for that do not answer when they are told that the group is dead.
constexpr auto kTelling = std::chrono::seconds(1);

}  // namespace

Links::Links(const PeerGroupOptions& options)
    : rank_(options.rank),
      size_(options.size),
      deadline_(options.deadline),
      peers_(static_cast<std::size_t>(options.size)),
      mailbox_(options.size) {}

void Links::send(int to, FrameKind kind, std::span<const Message> messages) {
  Lock lock(mutex_);
  for (const FrameParts& frame : frames_of(kind, messages)) {
    if (!cause_ && peer(to).gone()) {
      fail_left(lock, to);
      wait_until_told(lock);
    }
    if (cause_) throw_aborted(lock, send_text(to, kind, frame.front().header.tag));
    if (to == rank_) break;
    send_frame(lock, to, frame);
  }
  if (to != rank_) return;
  for (const auto& [tag, data] : messages) mailbox_.add(rank_, kind, tag, data);
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
  if (!parcel.frames.empty()) take_back(std::move(parcel.frames));
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
                            (wanted.from.size() == 1 ? text_of(lock, wanted.from.front()) : ranks_text(wanted.from)) +
                            " sent nothing in time: " + waited_text(rank_, Clock::now() - begin, limit);
  fail(lock, cause);
  wait_until_told(lock);
  throw DeadlineError(cause);
}

void Links::take_frame(const Lock& lock, int rank, FramePointer& frame) noexcept {
  try {
    do {
      dispatch_part(lock, rank, frame);
    } while (frame && frame->next_part());
  } catch (const std::bad_alloc& error) {
    fail_service(lock, error);
  } catch (const std::exception& error) {
    fail_with(lock, [&] { return "from " + text_of(lock, rank) + " came " + error.what(); });
  }
}

void Links::dispatch_part(const Lock& lock, int rank, FramePointer& frame) {
  frame->check_part();
  const FrameHeader header = frame->header();
  if (header.more != 0 && header.message_size > short_message) {
    throw std::runtime_error("a long message with another after it in a frame");
  }
  Peer& other = peer(rank);
  switch (header.kind) {
    case FrameKind::message:
    case FrameKind::broadcast:
      return take_mail(lock, rank, frame);
    case FrameKind::abort:
      other.dead = true;
      fail(lock, {reinterpret_cast<const char*>(frame->data().data()), frame->data().size()});
      break;
    case FrameKind::leave:
      other.left = true;
      other.tell_leave_seen = true;
      mail_changed_.notify_all();
      wake_service(lock);
      break;
    case FrameKind::leave_seen:
      other.seen_left = true;
      break;
    default:
      throw std::runtime_error("a frame of no kind that is known");
  }
  others_changed_.notify_all();
}

void Links::take_mail(const Lock&, int rank, FramePointer& frame) {
  if (cause_) return;
  const FrameHeader header = frame->header();
  const bool complete = mailbox_.add(rank, frame);
  if (complete && wanted_ != nullptr && wanted_->kind == header.kind && wanted_->tag == header.tag &&
      wanted_->includes(rank)) {
    mail_changed_.notify_one();
  }
}

void Links::close(const Lock& lock, int rank) noexcept {
  Peer& other = peer(rank);
  if (other.closed) return;
  other.closed = true;
  if (!other.left && !leaving_) {
    fail_with(lock, [&] { return "the connection with " + text_of(lock, rank) + " is lost"; });
  }
  mail_changed_.notify_all();
  others_changed_.notify_all();
}

void Links::tell(Lock& lock, int rank) {
  const auto send = [&](FrameKind kind, const std::string& text) {
    const auto bytes = std::as_bytes(std::span(text).first(std::min(text.size(), short_message)));
    send_frame(lock, rank, {{{.kind = kind, .size = bytes.size(), .message_size = bytes.size()}, bytes}});
  };
  Peer& other = peer(rank);
  if (std::exchange(other.tell_leave_seen, false)) send(FrameKind::leave_seen, "");
  if (std::exchange(other.tell_leave, false)) send(FrameKind::leave, "");
  if (std::exchange(other.tell_abort, false)) send(FrameKind::abort, *cause_);
}

void Links::check_alive(const std::string& call) {
  const Lock lock(mutex_);
  if (cause_) throw_aborted(lock, call);
}

void Links::abort(const std::string& reason) noexcept {
  Lock lock(mutex_);
  fail_with(lock, [&] { return reason; });
  wait_until_told(lock);
}

void Links::fail(const Lock& lock, std::string cause) noexcept {
  if (cause_) return;
  cause_ = std::move(cause);
  told_by_ = Clock::now() + kTelling;
  for (Peer& other : peers_) other.tell_abort = true;
  mail_changed_.notify_all();
  others_changed_.notify_all();
  wake_service(lock);
}

template <typename MakeCause>
void Links::fail_with(const Lock& lock, const MakeCause& make_cause) noexcept {
  try {
    fail(lock, make_cause());
  } catch (const std::bad_alloc&) {
    fail(lock, "out of memory");  // short enough to need none
  }
}

void Links::fail_service(const Lock& lock, const std::exception& error) noexcept {
  fail_with(lock, [&] { return text_of(lock, rank_) + " can serve its connections no more: " + error.what(); });
}

void Links::fail_left(const Lock& lock, int rank) { fail(lock, text_of(lock, rank) + " has left the group"); }

void Links::wait_until_told(Lock& lock) {
  others_changed_.wait_until(lock, told_by_, [&] {
    for (int rank = 0; rank < size_; ++rank) {
      if (rank != rank_ && !peer(rank).gone() && !peer(rank).dead) return false;
    }
    return true;
  });
}

void Links::wait_until_left(Lock& lock) {
  others_changed_.wait_until(lock, Clock::now() + deadline_, [&] {
    if (cause_) return true;
    for (int rank = 0; rank < size_; ++rank) {
      if (rank != rank_ && !peer(rank).gone() && !peer(rank).seen_left) return false;
    }
    return true;
  });
  if (cause_) wait_until_told(lock);
}

void Links::leave() {
  Lock lock(mutex_);
  leaving_ = true;
  for (Peer& other : peers_) other.tell_leave = !cause_;
  wake_service(lock);
  wait_until_left(lock);
}

bool Links::all_gone(const Lock&, std::span<const int> ranks) const {
  return std::ranges::all_of(ranks, [&](int rank) { return peer(rank).gone(); });
}

void Links::throw_aborted(const Lock&, const std::string& call) const {
  throw AbortedError(call + ": the group was aborted: " + *cause_);
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

}  // namespace tandem::comm::peer_group
