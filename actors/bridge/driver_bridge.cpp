#include "actors/bridge/driver_bridge.h"

#include <fmt/format.h>

#include <utility>

namespace tandem::actors {

DriverBridge::DriverBridge(caf::actor_system& system, const comm::control::ServerOptions& options, caf::actor driver)
    : system_(system), driver_(std::move(driver)), server_(new comm::control::ControlServer(options, *this)) {
  made_.count_down();
  notice("waiting for nodes at " + server_->endpoint());
}

// Whoever still has a handle of a node's actor finds that it leads nowhere.
DriverBridge::~DriverBridge() {
  server_->close();
  for (auto& [id, node] : nodes_) node.peer->end();
}

void DriverBridge::on_joined(const NodeId& id, const comm::control::NodeInfo& info, const std::string& key) {
  Node& node = nodes_[id];
  node.text = name_of(info);
  node.peer = std::make_unique<Peer>(system_, [this, id](const Parcel& parcel) { dispatch(id, parcel); });
  caf::anon_send(driver_, NodeJoined{node.peer->root(), info.name, node.text, info.host, info.pid, info.cores,
                                     info.memory, info.devices, key});
}

void DriverBridge::on_message(const NodeId& id, std::vector<std::byte> message) {
  const Node& node = nodes_.at(id);
  try {
    node.peer->deliver<MessagesToDriver>(message, driver_);
  } catch (const std::exception& error) {
    notice(fmt::format("dropped from {}: {}", node.text, error.what()));
  }
}

void DriverBridge::on_left(const NodeId& id) { lose(id, "it left"); }

void DriverBridge::on_lost(const NodeId& id, const std::string& reason) { lose(id, reason); }

void DriverBridge::on_refused(const std::string& reason) { notice("refused: " + reason); }

void DriverBridge::on_dropped(const std::string& what) { notice("dropped: " + what); }

// From the thread of whoever sends.
void DriverBridge::dispatch(const NodeId& id, const Parcel& parcel) {
  made_.wait();
  try {
    if (auto bytes = bytes_of<MessagesToNode>(system_, parcel)) server_->send(id, std::move(*bytes));
  } catch (const comm::control::GoneError&) {
    // The driver is told that it is lost, or has ended.
  } catch (const std::exception& error) {
    notice(error.what());
  }
}

void DriverBridge::lose(const NodeId& id, const std::string& reason) {
  const auto node = nodes_.extract(id);
  caf::anon_send(driver_, NodeLost{node.mapped().peer->root(), reason});
  node.mapped().peer->end();
}

void DriverBridge::notice(const std::string& text) { caf::anon_send(driver_, Notice{text}); }

}  // namespace tandem::actors
