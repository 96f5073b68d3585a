#include "comm/control/clock_offset.h"

#include <algorithm>

namespace tandem::comm::control {
namespace {

// Times come from the other side: anything may be in them.
constexpr Time largest_time = std::chrono::hours(24 * 365 * 50);

bool plausible(Time time) { return time > -largest_time && time < largest_time; }

}  // namespace

void ClockOffset::add(const RoundTrip& trip) {
  for (const Time time : {trip.sent_here, trip.received_there, trip.sent_there, trip.received_here}) {
    if (!plausible(time)) return;
  }
  const Time under_way = (trip.received_here - trip.sent_here) - (trip.sent_there - trip.received_there);
  if (under_way < Time::zero() || trip.sent_there < trip.received_there) return;
  const Time ahead = ((trip.received_there - trip.sent_here) + (trip.sent_there - trip.received_here)) / 2;
  trips_[count_ % window] = {ahead, under_way / 2 + Time(1)};
  ++count_;
}

std::optional<Offset> ClockOffset::estimate() const {
  if (count_ == 0) return std::nullopt;
  return *std::ranges::min_element(trips_.begin(), trips_.begin() + std::min(count_, window), {}, &Offset::uncertainty);
}

}  // namespace tandem::comm::control
