#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "comm/gloo.h"
#include "comm/gloo/frame.h"
#include "comm/gloo/mailbox.h"
#include "comm/gloo/mesh.h"
#include "comm/gloo/pair.h"
#include "comm/store.h"

// How messages get from one rank to another.
//
//   1. Whatever is sent is copied into frames (frame.h), which Gloo sends when it can. A frame is used again when Gloo
//      is done with it.
//   2. For every peer a few receives are under way always, so that a peer may send frames without asking first. Gloo's
//      thread takes those that have come and puts them into the mailbox; the service thread begins new receives.
//   3. Locks are taken in this order: Gloo's lock of a connection, this class's, Gloo's lock of a buffer. So nothing
//      here calls Gloo with its own lock held, but to ask whether a buffer is complete.
//   4. Gloo's thread must never wait for a connection's lock: a thread that closes the connection holds it while it
//      waits for Gloo's thread. That is what the service thread is for.
//   5. A group that is dead stays so. A rank whose group has died tells all others, in an abort frame each; from the
//      others' abort frames it knows who has been told.
//   6. A rank that leaves says so, in a leave frame after all else, and closes its connections when the others have
//      seen it. A connection that is closed without that kills the group.
namespace tandem::comm::gloo_transport {

/// Errors are those of communicator.h; ranks given are valid. Threads: send() and receive() from one thread at a time,
/// abort() from any.
class Links : private PairWatcher {
 public:
  Links(Store& store, const GlooOptions& options);
  Links(const Links&) = delete;
  Links& operator=(const Links&) = delete;
  ~Links() override;

  void send(int to, FrameKind kind, std::uint32_t tag, std::span<const std::byte> data);
  /// Returns the sender.
  int receive(const Wanted& wanted, std::span<std::byte> data, Duration limit);

  /// Throws AbortedError, naming `call`, if the group is dead.
  void check_alive(const std::string& call);
  void abort(const std::string& reason) noexcept;

  std::uint64_t bytes_sent() const { return bytes_sent_; }

 private:
  using Lock = std::unique_lock<std::mutex>;
  using FramePointer = std::unique_ptr<Frame>;

  struct Peer {
    std::deque<FramePointer> receiving;  // in the order in which they will be complete
    std::deque<FramePointer> sending;    // about in the order in which they will be complete
    std::size_t receives = 4;            // how many are to be under way
    bool closed = false;
    bool left = false;       // its leave frame has come
    bool seen_left = false;  // it has seen this rank's
    bool dead = false;       // its abort frame has come
    // What the service thread is to tell it.
    bool tell_abort = false;
    bool tell_leave = false;
    bool tell_leave_seen = false;

    bool gone() const { return closed || left; }
    bool needs_service() const;
  };

  void on_event(int peer) noexcept override;
  void on_closed(int peer) noexcept override;
  void take_received(const Lock& lock, int rank);
  void take_frame(const Lock& lock, int rank, FramePointer frame);

  void serve();
  void serve_peer(Lock& lock, int rank);
  void begin_receive(Lock& lock, int rank);
  void tell(Lock& lock, int rank, FrameKind kind, const std::string& text);

  /// With the lock held again afterwards. Does nothing if the connection is closed.
  void send_frame(Lock& lock, int to, FramePointer frame);
  FramePointer free_frame(Lock& lock);
  void reclaim_sent(const Lock& lock, Peer& peer);

  Parcel wait_for(const Wanted& wanted, Duration limit);
  bool all_gone(const Lock& lock, std::span<const int> ranks) const;

  /// Kills the group, unless it is dead, and has the others told.
  void fail(const Lock& lock, std::string cause) noexcept;
  void fail_left(const Lock& lock, int rank);
  /// Waits until the others know that the group is dead, but not for long.
  void wait_until_told(Lock& lock);
  void wait_until_left(Lock& lock);
  [[noreturn]] void throw_aborted(const Lock& lock, const std::string& call) const;
  std::string text_of(const Lock& lock, int rank) const;
  std::string send_text(int to, FrameKind kind, std::uint32_t tag) const;
  std::string receive_text(const Wanted& wanted) const;

  Peer& peer(int rank) { return peers_[static_cast<std::size_t>(rank)]; }
  const Peer& peer(int rank) const { return peers_[static_cast<std::size_t>(rank)]; }

  const int rank_;
  const Duration deadline_;
  std::atomic<std::uint64_t> bytes_sent_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable mail_changed_;    // where receive() waits
  std::condition_variable work_changed_;    // where the service thread waits
  std::condition_variable others_changed_;  // where those wait that tell others something

  // Guarded by mutex_.
  std::vector<Peer> peers_;  // by rank
  Mailbox mailbox_;
  const Wanted* wanted_ = nullptr;    // what receive() waits for
  std::vector<FramePointer> free_;    // for any use
  std::vector<FramePointer> broken_;  // of closed connections, whose state is not known
  std::optional<std::string> cause_;  // of death
  Clock::time_point told_by_;         // once dead: how long to wait for others to be told
  bool connected_ = false;            // until then names are on their way
  bool leaving_ = false;
  bool stopping_ = false;

  Mesh mesh_;
  std::thread service_;
};

}  // namespace tandem::comm::gloo_transport
