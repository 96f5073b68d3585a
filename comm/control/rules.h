#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "comm/control/frame.h"
#include "comm/control/node.h"
#include "comm/control/timing.h"

namespace tandem::comm::control {

using namespace std::chrono_literals;

/// How long closing takes at most if nothing else is said.
inline constexpr Time closing_limit = 1s;

/// What both ends of the control plane go by. Driver and nodes need the same `largest_message`.
struct Rules {
  std::string version;
  /// Other than control::wire_format only to play a program of another time.
  std::uint16_t format = wire_format;
  Timing timing = {};
  /// Bytes of one message; longer ones are neither sent nor taken. One has to come through within `silence`.
  std::size_t largest_message = std::size_t{16} << 20;
  /// Bytes that are kept for one peer until it acknowledges them; what would exceed them is not sent. At least
  /// `largest_message` and what a message takes besides its bytes. What is under way of it, which is limited, takes as
  /// much again.
  std::size_t backlog = std::size_t{64} << 20;
};

}  // namespace tandem::comm::control
