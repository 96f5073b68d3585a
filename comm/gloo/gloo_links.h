#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "comm/gloo/gloo_frame.h"
#include "comm/gloo/mesh.h"
#include "comm/gloo/pair.h"
#include "comm/peer_group/links.h"
#include "comm/store.h"

// How Gloo carries frames.
//
//   1. Whatever is sent is copied into frames (gloo_frame.h), which Gloo sends when it can. A frame is used again when
//      Gloo is done with it.
//   2. For every peer a few receives are under way always, so that a peer may send frames without asking first. Gloo's
//      thread takes those that have come and puts them into the mailbox; the service thread begins new receives.
//   3. Locks are taken in this order: Gloo's lock of a connection, that of Links, Gloo's lock of a buffer. So nothing
//      here calls Gloo with the lock of Links held, but to ask whether a buffer is complete.
//   4. Gloo's thread must never wait for a connection's lock: a thread that closes the connection holds it while it
//      waits for Gloo's thread. That is what the service thread is for.
namespace tandem::comm::gloo_transport {

class GlooLinks : public peer_group::Links, private PairWatcher {
 public:
  GlooLinks(Store& store, const PeerGroupOptions& options);
  ~GlooLinks() override;

 private:
  using GlooFramePointer = std::unique_ptr<GlooFrame>;

  /// The frames that are Gloo's at present, of one connection.
  struct Flow {
    std::deque<GlooFramePointer> receiving;  // in the order in which they will be complete
    std::deque<GlooFramePointer> sending;    // about in the order in which they will be complete
    std::size_t receives = 4;                // how many are to be under way
  };

  void send_frame(Lock& lock, int to, const peer_group::FrameParts& parts) override;
  void wake_service(const Lock&) noexcept override { work_changed_.notify_all(); }
  void take_back(std::vector<peer_group::FramePointer> frames) override;
  std::string text_of(const Lock& lock, int rank) const override;

  void on_event(int peer) noexcept override;
  void on_closed(int peer) noexcept override;
  void take_received(const Lock& lock, int rank);

  void serve();
  void serve_peer(Lock& lock, int rank);
  void begin_receive(Lock& lock, int rank);
  bool needs_service(const Lock& lock, int rank) const;
  bool anybody_needs_service(const Lock& lock) const;

  GlooFramePointer free_frame(Lock& lock);
  void reclaim_sent(const Lock& lock, int rank);

  Flow& flow(int rank) { return flows_[static_cast<std::size_t>(rank)]; }
  const Flow& flow(int rank) const { return flows_[static_cast<std::size_t>(rank)]; }

  std::condition_variable work_changed_;  // where the service thread waits

  // Guarded by mutex_.
  std::vector<Flow> flows_;               // by rank
  std::vector<GlooFramePointer> free_;    // for any use
  std::vector<GlooFramePointer> broken_;  // of closed connections, whose state is not known
  bool connected_ = false;                // until then names are on their way
  bool stopping_ = false;

  Mesh mesh_;
  std::thread service_;
};

}  // namespace tandem::comm::gloo_transport
