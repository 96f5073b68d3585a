#pragma once

#include <zmq.hpp>

#include <cstdint>
#include <span>
#include <type_traits>

#include "comm/peer_group/frame.h"

namespace tandem::comm::zeromq {

/// What a message between two ranks begins with; the frame's bytes follow.
struct WireHeader {
  /// Of the frames from one rank to another, from 0 on.
  std::uint64_t number = 0;
  peer_group::FrameHeader frame;
};
static_assert(sizeof(WireHeader) == 32 && std::is_trivially_copyable_v<WireHeader>);

/// What ZeroMQ and CURVE put on the network beside a message.
inline constexpr std::size_t bytes_beside_message = 42;

/// Copies `data`. The number is left to set_number().
zmq::message_t make_message(const peer_group::FrameHeader& header, std::span<const std::byte> data);
void set_number(zmq::message_t& message, std::uint64_t number);

/// A message that has come.
class ZeromqFrame : public peer_group::Frame {
 public:
  /// Throws std::runtime_error if it is no frame.
  explicit ZeromqFrame(zmq::message_t message);

  std::uint64_t number() const { return header_.number; }
  peer_group::FrameHeader header() const override { return header_.frame; }
  std::span<const std::byte> data() const override;

 private:
  const zmq::message_t message_;
  WireHeader header_;
};

}  // namespace tandem::comm::zeromq
