#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "comm/control/node.h"

namespace tandem::comm::control {

/// The four times of an exchange of heartbeats, two on this clock and two on the other side's.
struct RoundTrip {
  Time sent_here;
  Time received_there;
  Time sent_there;
  Time received_here;
};

/// How far the other side's clock is ahead of this one: their difference, and how much that may be off.
struct Offset {
  Time ahead;
  Time uncertainty;
};

/// Estimates the offset from round trips as NTP does: of the last ones the one that spent the least time under way
/// counts, since its two ways differ least. The two ways differ by no more than the time under way, so the error is at
/// most half of that, and what the clocks drift apart within the window. Owner only.
class ClockOffset {
 public:
  static constexpr std::size_t window = 32;

  /// Ignores a round trip that cannot have been: one that took less than no time, or times out of all reason.
  void add(const RoundTrip& trip);

  /// Unset before the first round trip.
  std::optional<Offset> estimate() const;

 private:
  std::array<Offset, window> trips_{};
  std::size_t count_ = 0;  // of all; the newest is at (count_ - 1) % window
};

}  // namespace tandem::comm::control
