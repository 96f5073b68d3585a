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

  /// Fills it; `data` has at most frame_capacity bytes.
  void fill(const peer_group::FrameHeader& header, std::span<const std::byte> data);
  peer_group::FrameHeader header() const override;
  std::span<const std::byte> data() const override;
  std::size_t size() const { return sizeof(peer_group::FrameHeader) + header().size; }

  /// Throw gloo::Exception if the connection is closed.
  void send(int to) { buffer_.send(to, frame_slot, 0, size()); }
  void receive(int from) { buffer_.recv(from, frame_slot, 0, bytes); }

  /// Whether what was begun is complete; says so once. Safe from any thread.
  bool take_sent() { return buffer_.take_sent(); }
  bool take_received() { return buffer_.take_received(); }

 private:
  static constexpr std::size_t bytes = sizeof(peer_group::FrameHeader) + peer_group::frame_capacity;

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
