#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

// What travels between two ranks. All that a rank sends to another is one sequence of frames, which arrive in order; a
// message is one frame or several in a row. Numbers are little-endian.
namespace tandem::comm::peer_group {

enum class FrameKind : std::uint32_t {
  message,     ///< part of a message between users, with their tag
  broadcast,   ///< part of a broadcast; tag 0
  abort,       ///< the sender's group is dead; the reason follows, as text
  leave,       ///< the sender has left, and sends nothing more
  leave_seen,  ///< the leave frame of the receiver has come
  hello,       ///< the sender is connected; first of all, where a transport needs it
};

struct FrameHeader {
  FrameKind kind = FrameKind::message;
  std::uint32_t tag = 0;
  /// Bytes that follow in this frame.
  std::uint64_t size = 0;
  /// Bytes in all frames of the message.
  std::uint64_t message_size = 0;
};
static_assert(sizeof(FrameHeader) == 24 && std::is_trivially_copyable_v<FrameHeader>);

/// The most bytes in a frame: a segment of a message_mean of the usual length in float32, and its header.
inline constexpr std::size_t frame_capacity = 256 * 1024 + 64;

/// A frame that has come, in a transport's memory.
class Frame {
 public:
  virtual ~Frame() = default;

  virtual FrameHeader header() const = 0;
  /// As many bytes as the header says; the header must be checked before.
  virtual std::span<const std::byte> data() const = 0;
};

using FramePointer = std::unique_ptr<Frame>;

}  // namespace tandem::comm::peer_group
