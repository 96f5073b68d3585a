#pragma once

#include <zmq.hpp>

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "comm/keys.h"
#include "comm/zeromq/sockets.h"
#include "comm/zeromq/zap.h"

namespace tandem::comm::zeromq {

/// Where the other ranks' connections arrive: only those of accepted keys, each of which stands for a rank. One for a
/// context. Owner only.
class Inbox {
 public:
  struct Options {
    /// To listen at, as text; the kernel chooses the port.
    std::string address;
    KeyPair keys;
    /// Longest that a connection may take until both sides have shown their keys.
    Duration handshake_limit;
    /// Longest message, in bytes. A connection on which a longer one comes is closed.
    std::size_t largest_message;
  };

  /// Listens; throws zmq::error_t if that cannot be.
  Inbox(zmq::context_t& context, const Options& options);

  /// "tcp://10.0.0.7:34567"
  const std::string& endpoint() const { return endpoint_; }

  /// That rank has this public key.
  void accept(int rank, const std::string& key);

  /// Adds what to wait for.
  void add_to(std::vector<zmq_pollitem_t>& items);

  /// Lets those in that ask to, if their key is accepted.
  void answer_keys() { (void)zap_.answer(); }

  struct Arrival {
    int rank;
    zmq::message_t message;
  };
  /// The next message that has come; in order of those of each rank. Never waits.
  std::optional<Arrival> next();

  /// The next rank whose connection has closed after a message of it came. Once this has been said, next() yields all
  /// that came before.
  std::optional<int> next_closed();

 private:
  void take_events();

  ZapHandler zap_;
  zmq::socket_t socket_;
  Monitor monitor_;
  std::string endpoint_;
  std::map<std::string, int> ranks_;  // by key
  std::set<int> met_;                 // ranks of which a message has come
  std::map<int, int> connections_;    // ranks by file descriptor
  std::set<int> ended_;               // file descriptors that no connection has any more
  std::deque<int> closed_;
};

}  // namespace tandem::comm::zeromq
