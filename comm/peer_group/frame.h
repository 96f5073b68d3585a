#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "comm/communicator.h"

// What travels between two ranks. All that a rank sends to another is one sequence of frames, which arrive in order. A
// frame has one part or several, each a header and its bytes; a message is one part or several in a row. Numbers are
// little-endian.
namespace tandem::comm::peer_group {

enum class FrameKind : std::uint16_t {
  message,     ///< part of a message between users, with their tag
  broadcast,   ///< part of a broadcast; tag 0
  abort,       ///< the sender's group is dead; the reason follows, as text
  leave,       ///< the sender has left, and sends nothing more
  leave_seen,  ///< the leave frame of the receiver has come
  hello,       ///< the sender is connected; first of all, where a transport needs it
};

struct FrameHeader {
  FrameKind kind = FrameKind::message;
  /// 1 if another part follows in this frame, else 0. What another part follows is all of a message that is short.
  std::uint16_t more = 0;
  std::uint32_t tag = 0;
  /// Bytes that follow in this part.
  std::uint64_t size = 0;
  /// Bytes in all parts of the message.
  std::uint64_t message_size = 0;
};
static_assert(sizeof(FrameHeader) == 24 && std::is_trivially_copyable_v<FrameHeader>);

/// The most bytes in a frame: a segment of a message_mean of the usual length in float32, what may go before it, and
/// headers.
inline constexpr std::size_t frame_capacity = 256 * 1024 + 256;

/// The longest message that is short.
inline constexpr std::size_t short_message = 4096;

/// A part of a frame that is to be sent.
struct FramePart {
  FrameHeader header;
  std::span<const std::byte> data;
};
using FrameParts = std::vector<FramePart>;

/// The messages as frames, of which each has as much as fits.
std::vector<FrameParts> frames_of(FrameKind kind, std::span<const Message> messages);
/// Bytes of a frame of these parts.
std::size_t size_of(const FrameParts& parts);
/// Writes a frame of these parts to `memory`, which has room for it.
void write_frame(const FrameParts& parts, std::byte* memory);

/// A frame that has come, in a transport's memory, of which it shows one part after the other.
class Frame {
 public:
  virtual ~Frame() = default;

  FrameHeader header() const;
  std::span<const std::byte> data() const;

  /// Throws std::runtime_error if the part does not lie within the memory.
  void check_part() const;
  /// Goes on to the next part; returns false if there is none. The part has been checked.
  bool next_part();

 protected:
  /// Shows the first part: another frame lies in the memory.
  void show_first_part() { offset_ = 0; }

 private:
  /// Where the frame lies; it may end before.
  virtual std::span<const std::byte> memory() const = 0;

  std::size_t offset_ = 0;  // of the part
};

using FramePointer = std::unique_ptr<Frame>;

}  // namespace tandem::comm::peer_group
