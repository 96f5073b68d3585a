#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "comm/control/clock_offset.h"
#include "comm/control/delivery.h"
#include "comm/control/frame.h"
#include "comm/control/presence.h"
#include "comm/control/rules.h"

namespace tandem::comm::control {

/// One end of a session, over however many connections, one after the other: what its frames hold and what frames of
/// the other side mean. Owner only; `now` never decreases.
class Channel {
 public:
  /// Not connected. `peer` names the other side in errors.
  Channel(std::string peer, const Rules& rules, Time now);

  /// Takes a message to send. Throws BacklogError, or ControlError if it is too long.
  void send(std::vector<std::byte> message);

  struct Nothing {};
  struct Message {
    std::vector<std::byte> bytes;
  };
  struct Left {};
  /// The session is over; in words that follow the other side's name.
  struct Fault {
    std::string what;
  };
  using Outcome = std::variant<Nothing, Message, Left, Fault>;

  /// A frame has come on the connection that is attached.
  [[nodiscard]] Outcome receive(const Frame& frame, Time now);

  /// Hello and welcome have been exchanged on a new connection; the other side has taken the data up to `acknowledged`.
  /// Returns what is wrong with that, if anything is.
  [[nodiscard]] std::optional<std::string> attach(std::uint64_t acknowledged, Time now);
  /// From now on.
  void go_by(const Timing& timing);
  void detach(Time now) { presence_.detach(now); }
  bool attached() const { return presence_.attached(); }
  void forgive(Time pause, Time now) { presence_.forgive(pause, now); }

  /// Appends the frames that are due; none while not connected.
  void emit(Time now, std::vector<std::vector<std::byte>>& frames);
  std::vector<std::byte> goodbye() const;

  /// See Presence. The time includes that of an acknowledgment that this side owes.
  std::optional<std::string> absence(Time now) const { return presence_.absence(now); }
  Time next() const;

  std::uint64_t taken() const { return delivery_.taken(); }
  /// No data has been acknowledged in either direction, as in a session whose welcome was lost on the way.
  bool untouched() const { return delivery_.taken() == 0 && delivery_.acknowledged() == 0; }
  bool all_acknowledged() const { return delivery_.all_acknowledged(); }
  std::optional<Offset> offset() const { return offset_.estimate(); }

 private:
  /// What this side has taken and not acknowledged.
  struct Debt {
    std::size_t messages = 0;
    std::size_t bytes = 0;
    Time since = Time::zero();
  };

  Outcome receive_data(std::uint64_t sequence, const Data& data, Time now);
  void receive_heartbeat(const Heartbeat& heartbeat, Time now);
  bool acknowledgment_due(Time now) const;
  Frame heartbeat(Time now) const;

  const std::string peer_;
  Rules rules_;
  Delivery delivery_;
  Presence presence_;
  ClockOffset offset_;
  Debt debt_;
  bool first_heartbeat_due_ = false;
  HeartbeatTimes heard_;  // its sent and received as the next heartbeat echoes them
};

}  // namespace tandem::comm::control
