#include "comm/control/presence.h"

#include <algorithm>

#include "comm/error_text.h"

namespace tandem::comm::control {

Presence::Presence(const Timing& timing, Time now) : timing_(timing), heard_(now), said_(now), detached_(now) {}

void Presence::attach(Time now) {
  attached_ = true;
  heard_ = now;
  said_ = now;
}

void Presence::detach(Time now) {
  if (!attached_) return;
  attached_ = false;
  detached_ = now;
}

void Presence::forgive(Time pause, Time now) {
  heard_ = std::min(heard_ + pause, now);
  detached_ = std::min(detached_ + pause, now);
}

bool Presence::heartbeat_due(Time now) const { return attached_ && now >= said_ + timing_.heartbeat; }

std::optional<std::string> Presence::absence(Time now) const {
  if (attached_ && now - heard_ > timing_.silence) {
    return "was silent for " + seconds_text(now - heard_) + ", " + seconds_text(timing_.silence) + " is allowed";
  }
  if (!attached_ && now - detached_ > timing_.reconnect) {
    return "lost its connection and did not come back for " + seconds_text(now - detached_) + ", " +
           seconds_text(timing_.reconnect) + " is allowed";
  }
  return std::nullopt;
}

Time Presence::next() const {
  if (!attached_) return detached_ + timing_.reconnect + Time(1);
  return std::min(said_ + timing_.heartbeat, heard_ + timing_.silence + Time(1));
}

}  // namespace tandem::comm::control
