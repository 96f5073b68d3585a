#pragma once

#include <chrono>

namespace tandem::scheduler {

/// A point on a clock of this process, as time since an arbitrary start.
using Time = std::chrono::nanoseconds;

/// The seam to the machine's clock, so that tests decide what time it is. Safe from any thread.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Time now() const = 0;
};

/// Monotonic; comparable between all threads of a host.
class SteadyClock final : public Clock {
 public:
  Time now() const override {
    return std::chrono::duration_cast<Time>(std::chrono::steady_clock::now().time_since_epoch());
  }
};

inline double seconds(Time time) { return std::chrono::duration<double>(time).count(); }

/// The inverse.
inline Time from_seconds(double seconds) {
  return std::chrono::duration_cast<Time>(std::chrono::duration<double>(seconds));
}

}  // namespace tandem::scheduler
