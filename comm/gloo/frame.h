#pragma once

#include <gloo/transport/tcp/unbound_buffer.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

#include "comm/gloo/pair.h"

// What travels between two ranks. All that a rank sends to another is one sequence of frames, which arrive in order; a
// message is one frame or several in a row. Frames are sent as Gloo's messages in the slot `frame_slot`. Numbers are
// little-endian.
namespace tandem::comm::gloo_transport {

inline constexpr std::uint64_t frame_slot = 1;

enum class FrameKind : std::uint32_t {
  message,     ///< part of a message between users, with their tag
  broadcast,   ///< part of a broadcast; tag 0
  abort,       ///< the sender's group is dead; the reason follows, as text
  leave,       ///< the sender has left, and sends nothing more
  leave_seen,  ///< the leave frame of the receiver has come
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

/// What Gloo puts on the network beside a frame: where it is sent an announcement and a preamble, where it is received
/// a notice that there is memory for it.
inline constexpr std::size_t gloo_bytes_per_sent_frame = 96;
inline constexpr std::size_t gloo_bytes_per_received_frame = 48;

/// Memory for one frame, known to Gloo; used again and again, for one frame at a time. As this memory is Gloo's from
/// send() or receive() until take_sent() or take_received(), it is destroyed only after that, or once its connection is
/// closed, and never by a callback of PairWatcher.
class Frame {
 public:
  /// Holds a segment of a message_mean of the usual length in float32, and its header.
  static constexpr std::size_t capacity = 256 * 1024 + 64;

  explicit Frame(const std::shared_ptr<Context>& context);

  /// Fills it; `data` has at most `capacity` bytes.
  void fill(const FrameHeader& header, std::span<const std::byte> data);
  FrameHeader header() const;
  /// As many bytes as the header says; the header must be checked before.
  std::span<const std::byte> data() const;
  std::size_t size() const { return sizeof(FrameHeader) + header().size; }

  /// Throw gloo::Exception if the connection is closed.
  void send(int to) { buffer_.send(to, frame_slot, 0, size()); }
  void receive(int from) { buffer_.recv(from, frame_slot, 0, sizeof(FrameHeader) + capacity); }

  /// Whether what was begun is complete; says so once. Safe from any thread.
  bool take_sent() { return buffer_.take_sent(); }
  bool take_received() { return buffer_.take_received(); }

 private:
  class Buffer : public gloo::transport::tcp::UnboundBuffer {
   public:
    using gloo::transport::tcp::UnboundBuffer::UnboundBuffer;
    bool take_sent();
    bool take_received();
  };

  const std::unique_ptr<std::byte[]> memory_;
  Buffer buffer_;
};

// As in pair.h.
static_assert(sizeof(void*) != 8 || sizeof(gloo::transport::tcp::UnboundBuffer) == 0xe0);

}  // namespace tandem::comm::gloo_transport
