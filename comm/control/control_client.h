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

/// Who is told what happens at a node's end. Called on the client's thread, one call at a time; may send; must not
/// block, throw, or close the client. One of on_left, on_lost and on_refused is the last call, unless the client is
/// closed before.
class ClientListener {
 public:
  virtual ~ClientListener() = default;

  virtual void on_joined() = 0;
  /// Messages come in the order they were sent, each once.
  virtual void on_message(std::vector<std::byte> message) = 0;
  /// The driver said goodbye, after all its messages.
  virtual void on_left() = 0;
  /// The driver is gone, or has given this node up; `reason` names it and says why.
  virtual void on_lost(const std::string& reason) = 0;
  /// The node could not join, within the time or at all.
  virtual void on_refused(const std::string& reason) = 0;
};

/// The node proves that it is `own`, and that the driver is `driver`; all that goes between them is encrypted.
struct ClientKeys {
  KeyPair own;
  std::string driver;
};

struct ClientOptions {
  /// Of the driver, "tcp://HOST:PORT" (comm/endpoint.h).
  std::string endpoint;
  Rules rules;
  /// As the driver is told; its version must be that of the rules.
  NodeInfo self;
  /// How long the driver is tried for.
  Time join_limit = 30s;
  std::optional<ClientKeys> keys;
  /// Monotonic; the clock that Offset is about. Empty: that of the system. Safe from any thread.
  std::function<Time()> clock;
};

/// A node's end of the control plane: joins the driver, exchanges messages with it, comes back if the connection is
/// cut, and tells when the driver is lost. Threads and delivery are as ControlServer's.
class ControlClient {
 public:
  /// Looks up the driver's host, once, and begins to join. The listener must outlive the client. Throws ControlError if
  /// the endpoint is none or its host is not known, KeyError if a key is none.
  ControlClient(const ClientOptions& options, ClientListener& listener);
  ControlClient(const ControlClient&) = delete;
  ControlClient& operator=(const ControlClient&) = delete;
  /// Closes.
  ~ControlClient();

  /// Also before it has joined; then the message is kept. Safe from any thread; never blocks. Throws GoneError after
  /// the last call to the listener or close, BacklogError, or ControlError if the message is longer than allowed.
  void send(std::vector<std::byte> message);

  /// How far the driver's clock is ahead of this one. Unset before the first heartbeats. Safe from any thread.
  std::optional<Offset> offset() const;

  /// Waits until the driver has acknowledged all messages and, if the connection is cut, for the next one, at most for
  /// `limit`; then says goodbye to it. Returns whether all was acknowledged. A second call does nothing and returns the
  /// same. From one thread at a time.
  bool close(Time limit = closing_limit);

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace tandem::comm::control
