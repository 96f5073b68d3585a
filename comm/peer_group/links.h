#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/peer_group.h"
#include "comm/peer_group/card.h"
#include "comm/peer_group/mailbox.h"

// How messages get from one rank to another: what is the same whatever carries them. A transport derives from Links; it
// sends frames, hands in those that come, and says when a connection is closed. It has a service thread, which tells
// the others what Links wants them to know.
//
//   1. A group that is dead stays so. A rank whose group has died tells all others, in an abort frame each; from the
//      others' abort frames it knows who has been told.
//   2. A rank that leaves says so, in a leave frame after all else, and closes its connections when the others have
//      seen it. A connection that is closed without that kills the group.
namespace tandem::comm::peer_group {

/// Errors are those of communicator.h; ranks given are valid. Threads: send() and receive() from one thread at a time,
/// abort() from any.
class Links {
 public:
  explicit Links(const PeerGroupOptions& options);
  Links(const Links&) = delete;
  Links& operator=(const Links&) = delete;
  virtual ~Links() = default;

  /// All of the same kind, as one frame where they fit in one.
  void send(int to, FrameKind kind, std::span<const Message> messages);
  /// Returns the sender.
  int receive(const Wanted& wanted, std::span<std::byte> data, Duration limit);

  /// Throws AbortedError, naming `call`, if the group is dead.
  void check_alive(const std::string& call);
  void abort(const std::string& reason) noexcept;

  std::uint64_t bytes_sent() const { return bytes_sent_; }

 protected:
  using Lock = std::unique_lock<std::mutex>;

  struct Peer {
    bool closed = false;
    bool left = false;       // its leave frame has come
    bool seen_left = false;  // it has seen this rank's
    bool dead = false;       // its abort frame has come
    // What the service thread is to tell it.
    bool tell_abort = false;
    bool tell_leave = false;
    bool tell_leave_seen = false;

    bool gone() const { return closed || left; }
    bool to_be_told() const { return !closed && (tell_abort || tell_leave || tell_leave_seen); }
  };

  // What a transport does. A Lock is that of mutex_, held; where it is not const it is given up meanwhile, and held
  // again afterwards.

  /// Does nothing if the connection is closed. The frame has at most frame_capacity bytes.
  virtual void send_frame(Lock& lock, int to, const FrameParts& parts) = 0;
  /// Makes the service thread look whom to tell.
  virtual void wake_service(const Lock& lock) noexcept = 0;
  /// Frames whose message has been received. Called without the lock.
  virtual void take_back(std::vector<FramePointer> frames) = 0;
  /// "rank 2 (host b)", as far as names are known yet.
  virtual std::string text_of(const Lock& lock, int rank) const = 0;

  // What a transport calls.

  /// Takes the frame if its memory is needed longer. One that does not belong there kills the group.
  void take_frame(const Lock& lock, int rank, FramePointer& frame) noexcept;
  /// The connection with that rank is closed, and nothing more comes from it.
  void close(const Lock& lock, int rank) noexcept;
  /// On the service thread: tells the rank what it is to be told.
  void tell(Lock& lock, int rank);
  /// Kills the group, unless it is dead, and has the others told.
  void fail(const Lock& lock, std::string cause) noexcept;
  /// The same, where a thread of the transport cannot go on, as for want of memory.
  void fail_service(const Lock& lock, const std::exception& error) noexcept;
  /// Says so to the others, and waits until they know, as a destructor should. The service thread runs.
  void leave();

  Peer& peer(int rank) { return peers_[static_cast<std::size_t>(rank)]; }
  const Peer& peer(int rank) const { return peers_[static_cast<std::size_t>(rank)]; }
  const std::optional<std::string>& cause(const Lock&) const { return cause_; }
  int rank() const { return rank_; }
  int size() const { return size_; }

  std::mutex mutex_;
  std::atomic<std::uint64_t> bytes_sent_ = 0;

 private:
  /// fail() with a cause that takes memory to put together, which there may not be.
  template <typename MakeCause>
  void fail_with(const Lock& lock, const MakeCause& make_cause) noexcept;
  void dispatch_part(const Lock& lock, int rank, FramePointer& frame);
  void take_mail(const Lock& lock, int rank, FramePointer& frame);

  Parcel wait_for(const Wanted& wanted, Duration limit);
  bool all_gone(const Lock& lock, std::span<const int> ranks) const;

  void fail_left(const Lock& lock, int rank);
  /// Waits until the others know that the group is dead, but not for long.
  void wait_until_told(Lock& lock);
  void wait_until_left(Lock& lock);
  [[noreturn]] void throw_aborted(const Lock& lock, const std::string& call) const;
  std::string send_text(int to, FrameKind kind, std::uint32_t tag) const;
  std::string receive_text(const Wanted& wanted) const;

  const int rank_;
  const int size_;
  const Duration deadline_;

  std::condition_variable mail_changed_;    // where receive() waits
  std::condition_variable others_changed_;  // where those wait that tell others something

  // Guarded by mutex_.
  std::vector<Peer> peers_;  // by rank
  Mailbox mailbox_;
  const Wanted* wanted_ = nullptr;    // what receive() waits for
  std::optional<std::string> cause_;  // of death
  Clock::time_point told_by_;         // once dead: how long to wait for others to be told
  bool leaving_ = false;
};

}  // namespace tandem::comm::peer_group
