#pragma once

#include <zmq.hpp>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "comm/keys.h"
#include "comm/zeromq/sockets.h"

namespace tandem::comm::zeromq {

/// Connections to the other ranks, on which messages go out. A connection that ends is not made anew. Threads:
/// connect() and send() from one at a time; what is about events from one at a time, which may be another.
class Outbox {
 public:
  /// `handshake_limit`: longest that a connection may take until both sides have shown their keys.
  Outbox(zmq::context_t& context, const KeyPair& keys, Duration handshake_limit);

  /// Begins a connection with the rank that listens there and has this public key. Throws zmq::error_t if `endpoint`
  /// or `key` is none.
  void connect(int rank, const std::string& endpoint, const std::string& key);

  /// Never waits; what is sent before the connection is made waits itself. Returns false if it has ended.
  [[nodiscard]] bool send(int rank, zmq::message_t message);

  /// Adds what to wait for.
  void add_to(std::vector<zmq_pollitem_t>& items);

  struct Event {
    int rank;
    bool connected;   // or ended
    std::string why;  // it ended, where that is known
  };
  /// What has happened next. Never waits.
  std::optional<Event> next();

 private:
  zmq::socket_t socket_;
  Monitor monitor_;
  std::map<std::string, int> ranks_;     // by endpoint; unchanged once all are connected
  std::map<int, std::string> failures_;  // by rank
};

}  // namespace tandem::comm::zeromq
