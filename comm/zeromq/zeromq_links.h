#pragma once

#include <zmq.hpp>

#include <condition_variable>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "comm/peer_group/links.h"
#include "comm/store.h"
#include "comm/zeromq/inbox.h"
#include "comm/zeromq/outbox.h"

// How ZeroMQ carries frames.
//
//   1. Between two ranks there are two connections, one for each direction: the sender connects with the receiver, each
//      knowing the public key that the other must have. A rank says hello first on each of its own.
//   2. Whatever is sent is copied into a message of its own, which ZeroMQ keeps until the network takes it. ZeroMQ's
//      threads encrypt and decrypt; the service thread takes the messages that have come and puts them into the
//      mailbox.
//   3. Frames are numbered. One that is missing, or comes twice, kills the group.
//   4. If either connection ends, both ranks take the other for closed. None is made anew.
//   5. The inbox is the service thread's alone; the outbox's sending half is guarded by the lock of Links.
namespace tandem::comm::zeromq {

class ZeromqLinks : public peer_group::Links {
 public:
  ZeromqLinks(Store& store, const PeerGroupOptions& options);
  ~ZeromqLinks() override;

 private:
  /// The frames of a peer.
  struct Flow {
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    bool connected = false;  // this rank with it
    bool said_hello = false;
  };

  struct Sockets {
    Sockets(const PeerGroupOptions& options, const KeyPair& keys);

    zmq::context_t context;
    Inbox inbox;
    Outbox outbox;
  };

  void send_frame(Lock& lock, int to, const peer_group::FrameParts& parts) override;
  void wake_service(const Lock& lock) noexcept override;
  void take_back(std::vector<peer_group::FramePointer>) override {}
  std::string text_of(const Lock& lock, int rank) const override;

  void connect(Store& store, const PeerGroupOptions& options);
  void connect_to(int peer, const peer_group::Card& card);
  void await_connections(Store& store, const PeerGroupOptions& options, peer_group::Clock::time_point begin);
  std::vector<int> unconnected(const Lock& lock) const;
  void stop();

  void serve();
  void take_messages();
  void take_message(Inbox::Arrival arrival);
  void take_events();
  void take_event(const Outbox::Event& event);

  Flow& flow(int rank) { return flows_[static_cast<std::size_t>(rank)]; }
  const Flow& flow(int rank) const { return flows_[static_cast<std::size_t>(rank)]; }

  Wakeup wakeup_;
  std::optional<Sockets> sockets_;  // none for a rank alone

  std::condition_variable connections_changed_;

  // Guarded by mutex_.
  std::vector<Flow> flows_;         // by rank
  std::vector<std::string> names_;  // by rank
  bool stopping_ = false;

  std::thread service_;
};

}  // namespace tandem::comm::zeromq
