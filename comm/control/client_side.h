#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "comm/control/channel.h"
#include "comm/control/frame.h"
#include "comm/control/node.h"
#include "comm/control/rules.h"

namespace tandem::comm::control {

/// A node's end of the control plane without network, clock and threads; see ServerSide. It asks for connections, one
/// at a time, until it is welcomed or the time for that is over; and again when a connection ends, to resume.
///
/// Of Refused, Lost and Left exactly one is told, as the last event; then the node is at its end.
///
/// Owner only; `now` never decreases.
class ClientSide {
 public:
  struct Joined {};
  struct Message {
    std::vector<std::byte> bytes;
  };
  struct Left {};
  struct Lost {
    std::string reason;
  };
  struct Refused {
    std::string reason;
  };
  using Event = std::variant<Joined, Message, Left, Lost, Refused>;

  /// `driver` is where it is looked for, at most for `join_limit`.
  ClientSide(Rules rules, NodeInfo self, std::string driver, Time join_limit, Time now);

  /// Also before the node has joined. Throws GoneError, BacklogError, or ControlError if the message is too long.
  void send(std::vector<std::byte> message);

  bool wants_connection(Time now) const;
  /// A connection is being made; what goes out from now on goes there.
  void connecting(Time now);
  /// It has ended, or could not be made.
  void disconnect(const std::string& reason, Time now);
  /// The driver does not want this node, as the network knows.
  void refuse(const std::string& reason);
  /// This side cannot go on, for `reason`.
  void fail(const std::string& reason);
  void receive(std::span<const std::byte> bytes, Time now);

  /// To be called at `next` or soon after, and at least every heartbeat.
  void tick(Time now);
  Time next() const;

  std::vector<std::vector<std::byte>> take_outgoing(Time now);
  std::vector<Event> take_events();

  /// Parts with the driver: takes no more messages from now on, and ends when the driver has heard it, even if that
  /// takes another connection, or is away. What is told after is of no interest.
  void say_goodbye();
  bool all_acknowledged() const { return channel_.all_acknowledged(); }
  /// Whether it can say goodbye now: it is connected, or there is nobody to say it to. Otherwise it may come to be.
  bool may_part() const { return state_ == State::together || ended() || (state_ == State::apart && !joined()); }
  bool joined() const { return session_ != 0; }
  bool ended() const { return state_ == State::ended; }

  std::optional<Offset> offset() const { return channel_.offset(); }

 private:
  /// apart: no connection. greeting: one is being made, or hello is said there. together: welcomed on it.
  enum class State { apart, greeting, together, ended };

  void receive_answer(const Frame& frame, Time now);
  void go_by(const Welcome& welcome);
  void receive_frame(const Frame& frame, Time now);
  template <typename Last>
  void end(Last last);
  bool connected() const { return state_ != State::apart && state_ != State::ended; }
  /// In words that follow the driver's name, as below. Tells the driver.
  void give_up(const std::string& reason);
  void end_for(const std::string& reason);

  Rules rules_;
  const NodeInfo self_;
  const NodeId id_ = random_node_id();
  const std::string driver_;
  const Time join_limit_;
  Time begin_;
  Time last_tick_;
  State state_ = State::apart;
  bool leaving_ = false;  // goodbye is said on each connection
  Channel channel_;
  std::uint64_t session_ = 0;
  Time retry_;           // apart: when a connection is wanted
  Time retry_interval_;  // to the next try if this one fails
  Time greeting_since_;
  std::string last_failure_;
  std::vector<std::vector<std::byte>> outgoing_;
  std::vector<Event> events_;
};

}  // namespace tandem::comm::control
