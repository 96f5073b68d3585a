#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "comm/control/channel.h"
#include "comm/control/complaints.h"
#include "comm/control/frame.h"
#include "comm/control/node.h"
#include "comm/control/rules.h"

namespace tandem::comm::control {

/// The driver's end of the control plane without network, clock and threads: what comes in is handed to it with the
/// time, and what is to go out and to be told is taken from it.
///
/// Invariants
///   1. A node is known by its id, over all its connections. It is joined by its first hello, and stays until it says
///      goodbye, breaks the protocol, or is away too long; then it is forgotten.
///   2. A node that is known may come back on a new connection, with the same key, session and messages acknowledged;
///      the older connection then counts for nothing. It is not told of to the listener.
///   3. A hello that is not accepted is answered with the reason, and so is any other frame on a connection that no
///      node is known by. Of a connection that has been answered so, or that a node was known by before, nothing counts
///      any more: however much comes on it, what waits to go out there does not grow.
///
/// Owner only; `now` never decreases.
class ServerSide {
 public:
  /// What the network calls a connection; never used again for another.
  using Connection = std::string;

  struct Joined {
    NodeId node;
    NodeInfo info;
    std::string key;
  };
  struct Message {
    NodeId node;
    std::vector<std::byte> bytes;
  };
  struct Left {
    NodeId node;
  };
  struct Lost {
    NodeId node;
    std::string reason;
  };
  struct Refused {
    std::string reason;
  };
  struct Dropped {
    std::string what;
  };
  using Event = std::variant<Joined, Message, Left, Lost, Refused, Dropped>;

  struct Outgoing {
    Connection to;
    std::vector<std::byte> frame;
  };

  ServerSide(Rules rules, Time now);

  /// Throws GoneError, BacklogError, or ControlError if the message is too long.
  void send(const NodeId& node, std::vector<std::byte> message);

  /// A message has come. `key` is the public key of whoever sent it, empty without keys; `address` is where from, for
  /// logs.
  void receive(const Connection& from, const std::string& key, const std::string& address,
               std::span<const std::byte> bytes, Time now);
  void disconnect(const Connection& connection, Time now);
  /// Something else to log, seen by whoever owns this.
  void refuse(const std::string& reason, Time now);
  void drop(const std::string& what, Time now);

  /// Gives up all nodes: this side cannot go on, for `reason`.
  void fail(const std::string& reason, Time now);

  /// Gives up who is away too long. To be called at `next` or soon after, and at least every heartbeat.
  void tick(Time now);
  Time next() const;

  std::vector<Outgoing> take_outgoing(Time now);
  std::vector<Event> take_events();

  /// Parts with all nodes: takes no more messages and no new nodes from now on, and goes on until each has heard it,
  /// even if that takes another connection, or is away. What is told after is of no interest.
  void say_goodbye();
  bool parted() const { return leaving_ && peers_.empty(); }
  bool all_acknowledged() const;
  /// Whether all can be said goodbye to now: all is acknowledged, and all are connected. Otherwise it may come to be.
  bool may_part() const;

  std::optional<Offset> offset(const NodeId& node) const;

 private:
  struct Peer {
    NodeInfo info;
    std::string key;
    std::uint64_t session;
    Connection connection;
    Channel channel;
  };
  using Peers = std::map<NodeId, Peer>;

  void receive_hello(const Connection& from, const std::string& key, const Frame& frame, Time now);
  void join(const Connection& from, const std::string& key, const Hello& hello, Time now);
  void resume(Peers::iterator peer, const Connection& from, const std::string& key, const Frame& frame, Time now);
  void receive_from_peer(Peers::iterator peer, const Frame& frame, Time now);
  void welcome(Peers::iterator peer, const Connection& connection, std::uint64_t acknowledged, Time now);
  void answer_refuse(const Connection& to, const std::string& reason);
  /// One that no node is known by.
  void refuse_connection(const Connection& connection, const std::string& reason);
  void refuse_node(const Connection& to, const std::string& name, const std::string& reason, Time now);
  std::string version_fault(const std::string& version, std::uint16_t format) const;
  /// Nothing that comes on it counts any more.
  void part_from(const Connection& connection, bool has_ended);
  void lose(Peers::iterator peer, const std::string& reason);
  void forget(Peers::iterator peer);

  const Rules rules_;
  Peers peers_;
  std::unordered_map<Connection, NodeId> nodes_;  // by their connections
  std::unordered_map<Connection, bool> former_;   // of which nothing counts any more, and whether they have ended
  std::deque<Connection> ended_;                  // of these; the latest, as frames may come after the end
  std::vector<Outgoing> outgoing_;
  std::vector<Event> events_;
  Complaints refusals_, drops_;
  Time last_tick_;
  bool leaving_ = false;
};

}  // namespace tandem::comm::control
