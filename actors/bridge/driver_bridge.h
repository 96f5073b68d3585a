#pragma once

#include <caf/all.hpp>

#include <latch>
#include <map>
#include <memory>
#include <string>

#include "actors/bridge/peer.h"
#include "comm/control/control_server.h"

namespace tandem::actors {

/// The bridge of the driver's process: listens for nodes, tells the driver of them (NodeJoined, NodeLost, Notice), and
/// carries messages between it and them.
class DriverBridge final : comm::control::ServerListener {
 public:
  /// Listens from now on. Throws what ControlServer does. `system` outlives this.
  DriverBridge(caf::actor_system& system, const comm::control::ServerOptions& options, caf::actor driver);
  DriverBridge(const DriverBridge&) = delete;
  DriverBridge& operator=(const DriverBridge&) = delete;
  /// Closes, when all nodes have all messages or after a second.
  ~DriverBridge() override;

  /// Closes, when all nodes have all messages or after `limit`.
  void close(comm::control::Time limit) { server_->close(limit); }

  /// Where nodes find it, with the port that it got.
  const std::string& endpoint() const { return server_->endpoint(); }

 private:
  using NodeId = comm::control::NodeId;

  void on_joined(const NodeId& node, const comm::control::NodeInfo& info, const std::string& key) override;
  void on_message(const NodeId& node, std::vector<std::byte> message) override;
  void on_left(const NodeId& node) override;
  void on_lost(const NodeId& node, const std::string& reason) override;
  void on_refused(const std::string& reason) override;
  void on_dropped(const std::string& what) override;

  struct Node {
    std::string text;
    std::unique_ptr<Peer> peer;
  };

  void dispatch(const NodeId& node, const Parcel& parcel);
  void lose(const NodeId& node, const std::string& reason);
  void notice(const std::string& text);

  caf::actor_system& system_;
  const caf::actor driver_;
  std::map<NodeId, Node> nodes_;  // of the server's thread
  std::latch made_{1};            // nothing is sent before
  std::unique_ptr<comm::control::ControlServer> server_;
};

}  // namespace tandem::actors
