#include "comm/gloo/pair.h"

#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <thread>
#include <utility>

#include "comm/peer_group/card.h"

namespace tandem::comm::gloo_transport {
namespace {

// About as long as a thread takes to give a frame to the kernel.
constexpr auto kSending = std::chrono::microseconds(20);

}  // namespace

Pair::Pair(gloo::transport::tcp::Context* context, gloo::transport::tcp::Device* device, int peer, PairWatcher& watcher)
    : gloo::transport::tcp::Pair(context, device, peer, gloo::kNoTimeout), watcher_(watcher) {}

void Pair::end() {
  std::unique_lock<std::mutex> lock(m_);
  if (state_ == CONNECTED) {
    // Gloo's thread finds it at its end and closes it. To close it here would wait for that thread's next round.
    ::shutdown(fd_, SHUT_RDWR);
    cv_.wait(lock, [&] { return state_ == CLOSED; });
  } else if (state_ != CLOSED) {
    changeState(CLOSED);
  }
}

void Pair::handleEvents(int events) {
  if (std::unique_lock<std::mutex> lock(m_, std::try_to_lock); !lock) {
    // A thread that sends has it, and the event comes again at once, over and over until that thread is done.
    std::this_thread::sleep_for(kSending);
  }
  try {
    gloo::transport::tcp::Pair::handleEvents(events);
  } catch (const std::exception&) {
    // A write that failed, or what no Gloo sends. Left to the thread it would end the process. The lock is held only by
    // a thread that closes the pair itself, or for a moment: then this happens again.
    const std::unique_lock<std::mutex> lock(m_, std::try_to_lock);
    if (lock && state_ != CLOSED) changeState(CLOSED);
  }
  watcher_.on_event(rank_);
}

void Pair::changeState(state next) noexcept {
  gloo::transport::tcp::Pair::changeState(next);
  if (next == CLOSED) watcher_.on_closed(rank_);
}

void Pair::waitUntilConnected(std::unique_lock<std::mutex>& lock, bool) {
  const auto connected = [&] {
    throwIfException();
    return state_ >= CONNECTED;
  };
  while (!cv_.wait_until(lock, std::min(connect_deadline_, Clock::now() + peer_group::connect_patience), connected)) {
    if (Clock::now() >= connect_deadline_) throw ConnectTimeout();
    still_wanted_();
  }
}

Context::Context(std::shared_ptr<gloo::transport::tcp::Device> device, int own_rank, int ranks, PairWatcher& watcher)
    : gloo::transport::tcp::Context(std::move(device), own_rank, ranks), watcher_(watcher) {}

std::unique_ptr<gloo::transport::Pair>& Context::createPair(int peer) {
  auto& pair = pairs_[static_cast<std::size_t>(peer)];
  pair = std::make_unique<Pair>(this, device_.get(), peer, watcher_);
  return pair;
}

}  // namespace tandem::comm::gloo_transport
