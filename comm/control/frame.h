#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "comm/control/node.h"
#include "comm/control/text.h"
#include "comm/control/timing.h"

// The wire format of the control plane, between the driver and its nodes.
//
//   1. A frame is one message of a single part: a FrameHeader and, without a gap, the payload of its kind. Numbers are
//      little-endian; a reserved byte is 0. A text (text.h) is its length in bytes (uint16) and the bytes.
//   2. On each new connection the node says hello first, and the driver answers welcome or refuse; then both send data,
//      heartbeats and at last goodbye. A goodbye is answered with a goodbye, and whoever said it first ends the
//      connection then. Either may end the session with a refuse at any time.
//   3. Each direction counts its data frames from 1, over all connections of one session. `sequence` of data is its own
//      number; of a heartbeat and a goodbye, the number of the last data sent before it; of the others 0.
//   4. `acknowledged` is the number of the last data that the sender has taken from the other side, with none before it
//      missing. Whoever sent it keeps data until it is acknowledged, and sends it again after a hello and a welcome
//      that do not acknowledge it.
//   5. Payloads:
//        hello      text version, text host, text name, HelloNumbers
//        welcome    WelcomeNumbers
//        refuse     text reason
//        data       any bytes
//        heartbeat  HeartbeatTimes
//        goodbye    nothing
//   6. What holds in every wire format, so that each understands why it is refused: a header of 32 bytes that begins
//      with magic, wire_format and kind; a hello that begins with the version; a refuse that begins with the reason.
namespace tandem::comm::control {

static_assert(std::endian::native == std::endian::little, "frames are sent as they lie in memory");

/// The number of the wire format described here.
inline constexpr std::uint16_t wire_format = 1;

enum class Kind : std::uint8_t { hello = 1, welcome, refuse, data, heartbeat, goodbye };

struct FrameHeader {
  static constexpr std::uint32_t magic_number = 0x634d4454;  // "TDMc"

  std::uint32_t magic = magic_number;
  std::uint16_t wire_format = control::wire_format;
  Kind kind = Kind::data;
  std::uint8_t reserved = 0;
  std::uint64_t sequence = 0;
  std::uint64_t acknowledged = 0;
  /// Bytes of the payload: all that follows.
  std::uint64_t length = 0;
};
static_assert(sizeof(FrameHeader) == 32 && std::is_trivially_copyable_v<FrameHeader>);
static_assert(offsetof(FrameHeader, wire_format) == 4 && offsetof(FrameHeader, kind) == 6);

struct HelloNumbers {
  NodeId id;
  /// As in the welcome that the node resumes after; 0 where it has had none.
  std::uint64_t session = 0;
  std::int64_t pid = 0;
  std::uint64_t memory = 0;
  std::uint32_t cores = 0;
  std::uint32_t devices = 0;
};
static_assert(sizeof(HelloNumbers) == 48 && std::is_trivially_copyable_v<HelloNumbers>);

struct WelcomeNumbers {
  /// Names what the node may resume, and is known to it and the driver alone; never 0.
  std::uint64_t session = 0;
  /// The driver's Timing (timing.h), which the node goes by from then on: nanoseconds, each above 0 and at most
  /// longest_timing.
  std::int64_t heartbeat = 0;
  std::int64_t silence = 0;
  std::int64_t reconnect = 0;
};
static_assert(sizeof(WelcomeNumbers) == 32 && std::is_trivially_copyable_v<WelcomeNumbers>);

/// Nanoseconds on the sender's clock, or on the receiver's in `echo`.
struct HeartbeatTimes {
  std::int64_t sent = 0;
  /// `sent` of the last heartbeat that came from the other side on this connection, and when it came. Both 0 if none
  /// has.
  std::int64_t echo = 0;
  std::int64_t echo_received = 0;
};
static_assert(sizeof(HeartbeatTimes) == 24 && std::is_trivially_copyable_v<HeartbeatTimes>);

/// Bytes of the longest frame, where messages have up to `largest_message`: of data, or a hello.
constexpr std::size_t longest_frame(std::size_t largest_message) {
  constexpr std::size_t text = sizeof(std::uint16_t) + longest_text;
  return sizeof(FrameHeader) + std::max(largest_message, 3 * text + sizeof(HelloNumbers));
}

struct Hello {
  NodeInfo info;
  NodeId id;
  std::uint64_t session = 0;
};
struct Welcome {
  std::uint64_t session = 0;
  Time heartbeat = Timing{}.heartbeat;
  Time silence = Timing{}.silence;
  Time reconnect = Timing{}.reconnect;
};
static_assert(sizeof(Welcome) == sizeof(WelcomeNumbers));
inline constexpr Time longest_timing = std::chrono::hours(24);
struct Refuse {
  std::string reason;
};
/// Points into what was decoded.
struct Data {
  std::span<const std::byte> bytes;
};
using Heartbeat = HeartbeatTimes;
struct Goodbye {};

/// A frame of this wire format, and well-formed.
struct Frame {
  std::uint64_t sequence = 0;
  std::uint64_t acknowledged = 0;
  std::variant<Hello, Welcome, Refuse, Data, Heartbeat, Goodbye> body;
};

/// A hello of another wire format.
struct ForeignHello {
  std::uint16_t wire_format = 0;
  std::string version;
};

/// Anything else. A refuse of another wire format is a Frame.
struct Malformed {
  std::string why;
};

using Decoded = std::variant<Frame, ForeignHello, Malformed>;

/// Never reads beyond `bytes`, whatever they are, and never throws but std::bad_alloc. `format` is the wire format that
/// this side speaks.
[[nodiscard]] Decoded decode(std::span<const std::byte> bytes, std::uint16_t format = wire_format);

/// The inverse of decode. What is to be a text becomes one, see to_text.
[[nodiscard]] std::vector<std::byte> encode(const Frame& frame, std::uint16_t format = wire_format);

}  // namespace tandem::comm::control
