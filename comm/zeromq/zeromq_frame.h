#pragma once

#include <zmq.hpp>

#include <cstdint>
#include <span>

#include "comm/peer_group/frame.h"

namespace tandem::comm::zeromq {

/// What a message between two ranks begins with: the frame's number among those from one rank to another, from 0 on.
/// The frame follows.
using FrameNumber = std::uint64_t;

/// What ZeroMQ and CURVE put on the network beside a message.
inline constexpr std::size_t bytes_beside_message = 42;

/// Copies the parts. The number is left to set_number().
zmq::message_t make_message(const peer_group::FrameParts& parts);
void set_number(zmq::message_t& message, FrameNumber number);

/// A message that has come.
class ZeromqFrame : public peer_group::Frame {
 public:
  /// Throws std::runtime_error if it is no frame.
  explicit ZeromqFrame(zmq::message_t message);

  FrameNumber number() const;

 private:
  std::span<const std::byte> memory() const override;

  const zmq::message_t message_;
};

}  // namespace tandem::comm::zeromq
