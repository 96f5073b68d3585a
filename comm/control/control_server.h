#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/control/clock_offset.h"
#include "comm/control/node.h"
#include "comm/control/rules.h"
#include "comm/keys.h"

namespace tandem::comm::control {

/// Who is told what happens at the driver's end. Called on the server's thread, one call at a time; may send; must not
/// block, throw, or close the server.
class ServerListener {
 public:
  virtual ~ServerListener() = default;

  /// `key` is the public key whose secret the node holds, in Z85; empty where the driver uses no keys.
  virtual void on_joined(const NodeId& node, const NodeInfo& info, const std::string& key) = 0;
  /// Messages of one node come in the order they were sent, each once.
  virtual void on_message(const NodeId& node, std::vector<std::byte> message) = 0;
  /// The node said goodbye, after all its messages.
  virtual void on_left(const NodeId& node) = 0;
  /// The node is given up; `reason` names it, and what it did or for how long it was away.
  virtual void on_lost(const NodeId& node, const std::string& reason) = 0;
  /// Somebody may not join; `reason` names who and why. The same reason is told once in ten minutes.
  virtual void on_refused(const std::string& reason) = 0;
  /// What came in is nothing that the control plane knows, and was thrown away. The same is told once in ten minutes.
  virtual void on_dropped(const std::string& what) = 0;
};

/// With keys the driver takes only nodes that hold the secret key of an accepted public key, and all that goes between
/// them is encrypted.
struct ServerKeys {
  KeyPair own;
  std::vector<std::string> accepted;
};

struct ServerOptions {
  /// "tcp://ADDRESS:PORT", with the address of an interface or *, all of IPv4, and with port 0 or * any that is free.
  std::string endpoint;
  Rules rules;
  std::optional<ServerKeys> keys;
  /// Monotonic; the clock that Offset is about. Empty: that of the system. Safe from any thread.
  std::function<Time()> clock;
};

/// The driver's end of the control plane: takes nodes in, exchanges messages with them, and tells when one is lost.
///
/// It has a thread of its own, and two more inside ZeroMQ, which receive no signals. Delivery is checked: a message
/// that send has taken is delivered, or the node is lost or left; nothing is thrown away because a queue is full.
class ControlServer {
 public:
  /// Listens from now on. The listener must outlive the server. Throws ControlError if it cannot, KeyError if a key is
  /// none.
  ControlServer(const ServerOptions& options, ServerListener& listener);
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;
  /// Closes.
  ~ControlServer();

  /// With the port that it got.
  const std::string& endpoint() const;

  /// Safe from any thread; never blocks. Throws GoneError if there is no such node or the server is closed,
  /// BacklogError, or ControlError if the message is longer than allowed.
  void send(const NodeId& node, std::vector<std::byte> message);

  /// How far the node's clock is ahead of this one. Unset before the first heartbeats, and if there is no such node.
  /// Safe from any thread.
  std::optional<Offset> offset(const NodeId& node) const;

  /// Waits until all nodes have acknowledged all messages and those whose connections are cut are back or lost, at most
  /// for `limit`; then says goodbye to them and frees the port. Returns whether all was acknowledged. A second call
  /// does nothing and returns the same. From one thread at a time.
  bool close(Time limit = closing_limit);

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace tandem::comm::control
