#pragma once

#include <optional>
#include <string>

#include "comm/control/rules.h"

namespace tandem::comm::control {

/// Whether the other side is still there: when it was heard of last, since when it is not connected, and when this side
/// has to give a sign of life. Owner only.
class Presence {
 public:
  /// Not connected.
  Presence(const Timing& timing, Time now);

  /// From now on.
  void go_by(const Timing& timing) { timing_ = timing; }

  void attach(Time now);
  /// Its connection has ended. Does nothing if that is known.
  void detach(Time now);
  void heard(Time now) { heard_ = now; }
  void said(Time now) { said_ = now; }
  bool attached() const { return attached_; }

  /// This side did not run for the last `pause`, and could not have heard anything: that does not count as absence.
  void forgive(Time pause, Time now);

  bool heartbeat_due(Time now) const;

  /// Why the other side is lost, in words that follow its name; unset while it is not.
  std::optional<std::string> absence(Time now) const;

  /// The earliest time at which heartbeat_due or absence may come to be.
  Time next() const;

 private:
  Timing timing_;
  bool attached_ = false;
  Time heard_;
  Time said_;
  Time detached_;
};

}  // namespace tandem::comm::control
