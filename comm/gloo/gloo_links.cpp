#include "comm/gloo/gloo_links.h"

#include <gloo/common/error.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

#include "comm/blocked_signals.h"
#include "comm/gloo/no_pipe_signal.h"
#include "comm/peer_group/yielding_threads.h"

namespace tandem::comm::gloo_transport {
namespace {

using peer_group::FrameParts;
using peer_group::FramePointer;

// The most receives under way for a peer: what it may send before it hears from this rank again. A megabyte of int8;
// more is needed only where a network carries more at any time between two hosts, or threads wait long for a core.
constexpr std::size_t kMostReceives = 16;

std::unique_ptr<GlooFrame> as_gloo_frame(FramePointer frame) {
  return std::unique_ptr<GlooFrame>(static_cast<GlooFrame*>(frame.release()));
}

}  // namespace

GlooLinks::GlooLinks(Store& store, const PeerGroupOptions& options)
    : Links(options), flows_(static_cast<std::size_t>(options.size)), mesh_(options, *this) {
  mesh_.connect(store);
  {
    const Lock lock(mutex_);
    connected_ = true;
  }
  const BlockedSignals blocked;
  const peer_group::YieldingThreads yielding;
  service_ = std::thread([this] { serve(); });
}

GlooLinks::~GlooLinks() {
  leave();
  {
    const Lock lock(mutex_);
    stopping_ = true;
    work_changed_.notify_one();
  }
  service_.join();
}

std::string GlooLinks::text_of(const Lock&, int rank) const {
  return connected_ ? mesh_.text_of(rank) : peer_group::rank_text(rank, "");
}

void GlooLinks::on_event(int rank) noexcept {
  const Lock lock(mutex_);
  try {
    take_received(lock, rank);
  } catch (const std::exception& error) {
    fail_service(lock, error);
  }
  if (needs_service(lock, rank)) work_changed_.notify_one();
}

void GlooLinks::on_closed(int rank) noexcept {
  const Lock lock(mutex_);
  try {
    take_received(lock, rank);
    auto& [receiving, sending, receives] = flow(rank);
    broken_.reserve(broken_.size() + receiving.size() + sending.size());
    for (auto* const frames : {&receiving, &sending}) {
      std::ranges::move(*frames, std::back_inserter(broken_));
      frames->clear();
    }
  } catch (const std::exception& error) {
    fail_service(lock, error);
  }
  close(lock, rank);
}

void GlooLinks::take_received(const Lock& lock, int rank) {
  auto& [receiving, sending, receives] = flow(rank);
  while (!receiving.empty() && receiving.front()->take_received()) {
    FramePointer frame = std::move(receiving.front());
    receiving.pop_front();
    take_frame(lock, rank, frame);
    if (frame) free_.push_back(as_gloo_frame(std::move(frame)));
    // It may have had to wait.
    if (receiving.empty()) receives = std::min(kMostReceives, 2 * receives);
  }
}

bool GlooLinks::needs_service(const Lock&, int rank) const {
  const Flow& of_rank = flow(rank);
  return peer(rank).to_be_told() || (!peer(rank).closed && of_rank.receiving.size() <= of_rank.receives / 2);
}

bool GlooLinks::anybody_needs_service(const Lock& lock) const {
  for (int other = 0; other < size(); ++other) {
    if (other != rank() && needs_service(lock, other)) return true;
  }
  return false;
}

void GlooLinks::serve() {
  Lock lock(mutex_);
  try {
    for (;;) {
      work_changed_.wait(lock, [&] { return stopping_ || anybody_needs_service(lock); });
      if (stopping_) return;
      for (int other = 0; other < size(); ++other) {
        if (other != rank()) serve_peer(lock, other);
      }
    }
  } catch (const std::exception& error) {
    // The others find out when this rank's connections are closed.
    if (!lock) lock.lock();
    fail_service(lock, error);
  }
}

void GlooLinks::serve_peer(Lock& lock, int rank) {
  while (!peer(rank).closed && flow(rank).receiving.size() < flow(rank).receives) begin_receive(lock, rank);
  tell(lock, rank);
}

void GlooLinks::begin_receive(Lock& lock, int rank) {
  GlooFramePointer owned = free_frame(lock);
  if (peer(rank).closed) return free_.push_back(std::move(owned));
  GlooFrame& frame = *owned;
  flow(rank).receiving.push_back(std::move(owned));
  bytes_sent_ += gloo_bytes_per_received_frame;
  lock.unlock();
  try {
    frame.receive(rank);
  } catch (const gloo::Exception&) {
    // The connection is closed, of which on_closed() hears.
  }
  lock.lock();
}

void GlooLinks::send_frame(Lock& lock, int to, const FrameParts& parts) {
  reclaim_sent(lock, to);
  GlooFramePointer owned = free_frame(lock);
  lock.unlock();
  owned->fill(parts);
  lock.lock();
  if (peer(to).closed) return free_.push_back(std::move(owned));
  GlooFrame& frame = *owned;
  flow(to).sending.push_back(std::move(owned));
  const std::size_t size = size_of(parts);
  bytes_sent_ += size + gloo_bytes_per_sent_frame;
  lock.unlock();
  try {
    const NoPipeSignal none;
    frame.send(to, size);
  } catch (const gloo::Exception&) {
    // As in begin_receive().
  }
  lock.lock();
}

GlooLinks::GlooFramePointer GlooLinks::free_frame(Lock& lock) {
  if (!free_.empty()) {
    GlooFramePointer frame = std::move(free_.back());
    free_.pop_back();
    return frame;
  }
  lock.unlock();
  auto frame = std::make_unique<GlooFrame>(mesh_.context());
  lock.lock();
  return frame;
}

void GlooLinks::reclaim_sent(const Lock&, int rank) {
  auto& sending = flow(rank).sending;
  while (!sending.empty() && sending.front()->take_sent()) {
    free_.push_back(std::move(sending.front()));
    sending.pop_front();
  }
}

void GlooLinks::take_back(std::vector<FramePointer> frames) {
  const Lock lock(mutex_);
  for (FramePointer& frame : frames) free_.push_back(as_gloo_frame(std::move(frame)));
}

}  // namespace tandem::comm::gloo_transport
