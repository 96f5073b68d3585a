#pragma once

#include <gloo/transport/tcp/unbound_buffer.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "comm/gloo/pair.h"
#include "comm/peer_group/frame.h"

namespace tandem::comm::gloo_transport {

/// Frames are sent as Gloo's messages in this slot.
inline constexpr std::uint64_t frame_slot = 1;

/// What Gloo puts on the network beside a frame: where it is sent an announcement and a preamble, where it is received
/// a notice that there is memory for it.
inline constexpr std::size_t gloo_bytes_per_sent_frame = 96;
inline constexpr std::size_t gloo_bytes_per_received_frame = 48;

/// Memory for one frame, known to Gloo; used again and again, for one frame at a time. As this memory is Gloo's from
/// send() or receive() until take_sent() or take_received(), it is destroyed only after that, or once its connection is
/// closed, and never by a callback of PairWatcher.
class GlooFrame : public peer_group::Frame {
 public:
  explicit GlooFrame(const std::shared_ptr<Context>& context);

  /// Fills it; the frame has at most frame_capacity bytes.
  void fill(const peer_group::FrameParts& parts) { peer_group::write_frame(parts, memory_.get()); }

  /// `size`: bytes of the frame that it is filled with. Throw gloo::Exception if the connection is closed.
  void send(int to, std::size_t size) { buffer_.send(to, frame_slot, 0, size); }
  void receive(int from) {
    show_first_part();
    buffer_.recv(from, frame_slot, 0, peer_group::frame_capacity);
  }

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

  std::span<const std::byte> memory() const override { return {memory_.get(), peer_group::frame_capacity}; }

  const std::unique_ptr<std::byte[]> memory_;
  Buffer buffer_;
};

// As in pair.h.
static_assert(sizeof(void*) != 8 || sizeof(gloo::transport::tcp::UnboundBuffer) == 0xe0);

}  // namespace tandem::comm::gloo_transport
