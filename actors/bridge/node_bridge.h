#pragma once

#include <caf/all.hpp>

#include <functional>
#include <latch>
#include <memory>
#include <string>

#include "actors/bridge/peer.h"
#include "comm/control/control_client.h"

namespace tandem::actors {

/// The bridge of a node's process: joins the driver, carries messages between it and the node's actors, and tells the
/// node when it is lost (DriverLost).
class NodeBridge final : comm::control::ClientListener {
 public:
  /// Told once, on the bridge's thread.
  using Joined = std::function<void()>;

  /// Begins to join. Throws what ControlClient does. `system` outlives this.
  NodeBridge(caf::actor_system& system, const comm::control::ClientOptions& options, caf::actor node, Joined joined);
  NodeBridge(const NodeBridge&) = delete;
  NodeBridge& operator=(const NodeBridge&) = delete;
  /// Closes, when the driver has all messages or after a second.
  ~NodeBridge() override;

 private:
  void on_joined() override { joined_(); }
  void on_message(std::vector<std::byte> message) override;
  void on_left() override { lose("the driver has left"); }
  void on_lost(const std::string& reason) override { lose(reason); }
  void on_refused(const std::string& reason) override { lose(reason); }

  void dispatch(Parcel parcel);
  void to_drivers_time(caf::message& content) const;
  void lose(const std::string& reason);

  caf::actor_system& system_;
  const caf::actor node_;
  const Joined joined_;
  Peer driver_;
  std::latch made_{1};  // nothing is sent before
  std::unique_ptr<comm::control::ControlClient> client_;
};

}  // namespace tandem::actors
