#include <gloo/common/error.h>

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <utility>

#include "comm/gloo/links.h"

// The half of Links that runs on Gloo's thread and on the service thread.
namespace tandem::comm::gloo_transport {
namespace {

// The most receives under way for a peer: what it may send before it hears from this rank again. A megabyte of int8;
// more is needed only where a network carries more at any time between two hosts, or threads wait long for a core.
constexpr std::size_t kMostReceives = 16;

}  // namespace

bool Links::Peer::needs_service() const {
  return !closed && (tell_abort || tell_leave || tell_leave_seen || receiving.size() <= receives / 2);
}

void Links::on_event(int rank) noexcept {
  const Lock lock(mutex_);
  take_received(lock, rank);
  if (peer(rank).needs_service()) work_changed_.notify_one();
}

void Links::on_closed(int rank) noexcept {
  const Lock lock(mutex_);
  take_received(lock, rank);
  Peer& other = peer(rank);
  if (other.closed) return;
  other.closed = true;
  for (auto* const frames : {&other.receiving, &other.sending}) {
    std::ranges::move(*frames, std::back_inserter(broken_));
    frames->clear();
  }
  if (!other.left && !leaving_) fail(lock, "the connection with " + text_of(lock, rank) + " is lost");
  mail_changed_.notify_all();
  others_changed_.notify_all();
}

void Links::take_received(const Lock& lock, int rank) {
  Peer& other = peer(rank);
  auto& receiving = other.receiving;
  while (!receiving.empty() && receiving.front()->take_received()) {
    FramePointer frame = std::move(receiving.front());
    receiving.pop_front();
    try {
      take_frame(lock, rank, std::move(frame));
    } catch (const std::exception& error) {
      fail(lock, "from " + mesh_.text_of(rank) + " came " + error.what());
    }
    // It may have had to wait.
    if (receiving.empty()) other.receives = std::min(kMostReceives, 2 * other.receives);
  }
}

void Links::take_frame(const Lock& lock, int rank, FramePointer frame) {
  const FrameHeader header = frame->header();
  Peer& other = peer(rank);
  bool complete = false;
  if (header.size > Frame::capacity) throw std::runtime_error("a frame that is too long");
  switch (header.kind) {
    case FrameKind::message:
    case FrameKind::broadcast:
      if (cause_) break;
      frame = mailbox_.add(rank, std::move(frame), complete);
      if (complete && wanted_ != nullptr && wanted_->kind == header.kind && wanted_->tag == header.tag &&
          wanted_->includes(rank)) {
        mail_changed_.notify_one();
      }
      break;
    case FrameKind::abort:
      other.dead = true;
      fail(lock, {reinterpret_cast<const char*>(frame->data().data()), frame->data().size()});
      others_changed_.notify_all();
      break;
    case FrameKind::leave:
      other.left = true;
      other.tell_leave_seen = true;
      mail_changed_.notify_all();
      others_changed_.notify_all();
      break;
    case FrameKind::leave_seen:
      other.seen_left = true;
      others_changed_.notify_all();
      break;
    default:
      throw std::runtime_error("a frame of no kind that is known");
  }
  if (frame) free_.push_back(std::move(frame));
}

void Links::serve() {
  Lock lock(mutex_);
  try {
    for (;;) {
      work_changed_.wait(lock, [&] {
        return stopping_ || std::ranges::any_of(peers_, [&](const Peer& other) {
                 return &other != &peer(rank_) && other.needs_service();
               });
      });
      if (stopping_) return;
      for (int rank = 0; rank < static_cast<int>(peers_.size()); ++rank) {
        if (rank != rank_) serve_peer(lock, rank);
      }
    }
  } catch (const std::exception& error) {
    // Such as no memory. The others find out when this rank's connections are closed.
    if (!lock) lock.lock();
    fail(lock, mesh_.text_of(rank_) + " can serve its connections no more: " + error.what());
  }
}

void Links::serve_peer(Lock& lock, int rank) {
  Peer& other = peer(rank);
  while (!other.closed && other.receiving.size() < other.receives) begin_receive(lock, rank);
  if (std::exchange(other.tell_leave_seen, false)) tell(lock, rank, FrameKind::leave_seen, "");
  if (std::exchange(other.tell_leave, false)) tell(lock, rank, FrameKind::leave, "");
  if (std::exchange(other.tell_abort, false)) tell(lock, rank, FrameKind::abort, *cause_);
}

void Links::begin_receive(Lock& lock, int rank) {
  FramePointer owned = free_frame(lock);
  if (peer(rank).closed) return free_.push_back(std::move(owned));
  Frame& frame = *owned;
  peer(rank).receiving.push_back(std::move(owned));
  bytes_sent_ += gloo_bytes_per_received_frame;
  lock.unlock();
  try {
    frame.receive(rank);
  } catch (const gloo::Exception&) {
    // The connection is closed, of which on_closed() hears.
  }
  lock.lock();
}

void Links::tell(Lock& lock, int rank, FrameKind kind, const std::string& text) {
  reclaim_sent(lock, peer(rank));
  FramePointer frame = free_frame(lock);
  const auto bytes = std::as_bytes(std::span(text).first(std::min(text.size(), Frame::capacity)));
  frame->fill({.kind = kind, .size = bytes.size(), .message_size = bytes.size()}, bytes);
  send_frame(lock, rank, std::move(frame));
}

void Links::send_frame(Lock& lock, int to, FramePointer owned) {
  if (peer(to).closed) return free_.push_back(std::move(owned));
  Frame& frame = *owned;
  peer(to).sending.push_back(std::move(owned));
  bytes_sent_ += frame.size() + gloo_bytes_per_sent_frame;
  lock.unlock();
  try {
    frame.send(to);
  } catch (const gloo::Exception&) {
    // As in begin_receive().
  }
  lock.lock();
}

Links::FramePointer Links::free_frame(Lock& lock) {
  if (!free_.empty()) {
    FramePointer frame = std::move(free_.back());
    free_.pop_back();
    return frame;
  }
  lock.unlock();
  auto frame = std::make_unique<Frame>(mesh_.context());
  lock.lock();
  return frame;
}

void Links::reclaim_sent(const Lock&, Peer& other) {
  while (!other.sending.empty() && other.sending.front()->take_sent()) {
    free_.push_back(std::move(other.sending.front()));
    other.sending.pop_front();
  }
}

}  // namespace tandem::comm::gloo_transport
