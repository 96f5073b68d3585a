#pragma once

#include <gloo/transport/tcp/context.h>
#include <gloo/transport/tcp/pair.h>

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>

// Gloo's connections, as they are but for this: somebody is told when something has happened on one. Gloo itself only
// lets a thread wait for one buffer, so that it would take a thread a peer to wait for all; and where a connection ends
// within a message, it does not wake who waits for that.
namespace tandem::comm::gloo_transport {

using Clock = std::chrono::steady_clock;

/// Is told what happens on the connections of a context.
class PairWatcher {
 public:
  virtual ~PairWatcher() = default;

  /// Buffers of `peer` may be complete. On Gloo's thread, with none of Gloo's locks held: it may wait for nothing that
  /// holds one.
  virtual void on_event(int peer) noexcept = 0;

  /// The connection with `peer` is closed, for whatever reason, and no buffer of it will be complete that is not yet.
  /// On any thread that calls Gloo, with Gloo's lock of this connection held: it may not call Gloo.
  virtual void on_closed(int peer) noexcept = 0;
};

class Pair : public gloo::transport::tcp::Pair {
 public:
  Pair(gloo::transport::tcp::Context* context, gloo::transport::tcp::Device* device, int peer, PairWatcher& watcher);

  /// Until when connect() waits. It calls `still_wanted` now and then, and passes on what that throws.
  void set_connect_limits(Clock::time_point deadline, std::function<void()> still_wanted) {
    connect_deadline_ = deadline;
    still_wanted_ = std::move(still_wanted);
  }

  /// Ends the connection and returns when it is closed.
  void end();

  void handleEvents(int events) override;

 private:
  void changeState(state next) noexcept override;
  void waitUntilConnected(std::unique_lock<std::mutex>& lock, bool use_timeout) override;

  PairWatcher& watcher_;
  Clock::time_point connect_deadline_ = Clock::time_point::max();
  std::function<void()> still_wanted_ = [] {};
};

/// Thrown by Pair::connect().
class ConnectTimeout : public std::exception {
 public:
  const char* what() const noexcept override { return "no answer"; }
};

class Context : public gloo::transport::tcp::Context {
 public:
  Context(std::shared_ptr<gloo::transport::tcp::Device> device, int own_rank, int ranks, PairWatcher& watcher);

  /// Listens for that peer.
  std::unique_ptr<gloo::transport::Pair>& createPair(int peer) override;
  Pair& pair(int peer) { return static_cast<Pair&>(*getPair(peer)); }

  /// Ends Gloo's thread; when it returns nobody is told anything any more. All pairs have ended.
  void stop() { device_.reset(); }

 private:
  PairWatcher& watcher_;
};

// The library's, as it allocates them: memory.h and the library's headers fit it.
static_assert(sizeof(void*) != 8 || sizeof(gloo::transport::tcp::Pair) == 0x380);

}  // namespace tandem::comm::gloo_transport
