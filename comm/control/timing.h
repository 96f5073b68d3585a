#pragma once

#include <chrono>

#include "comm/control/node.h"

namespace tandem::comm::control {

/// How long what may take. A node goes by the driver's, once it is welcome; but for `acknowledge`, which is its own.
struct Timing {
  /// Each side sends something at least so often.
  Time heartbeat = std::chrono::milliseconds(500);
  /// A peer that is connected and from which nothing comes for longer is lost.
  Time silence = std::chrono::seconds(5);
  /// A peer whose connection has ended is lost if it does not come back within so long.
  Time reconnect = std::chrono::milliseconds(1500);
  /// Data is acknowledged within so long.
  Time acknowledge = std::chrono::milliseconds(20);
};

}  // namespace tandem::comm::control
