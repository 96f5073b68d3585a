#include "comm/zeromq/zeromq_frame.h"

#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace tandem::comm::zeromq {

zmq::message_t make_message(const peer_group::FrameHeader& header, std::span<const std::byte> data) {
  zmq::message_t message(sizeof(WireHeader) + data.size());
  auto* const bytes = static_cast<std::byte*>(message.data());
  const WireHeader wire_header{.frame = header};
  std::memcpy(bytes, &wire_header, sizeof(wire_header));
  if (!data.empty()) std::memcpy(bytes + sizeof(wire_header), data.data(), data.size());
  return message;
}

void set_number(zmq::message_t& message, std::uint64_t number) {
  std::memcpy(static_cast<std::byte*>(message.data()) + offsetof(WireHeader, number), &number, sizeof(number));
}

ZeromqFrame::ZeromqFrame(zmq::message_t message) : message_(std::move(message)) {
  if (message_.more()) throw std::runtime_error("a message in several parts");
  if (message_.size() < sizeof(header_)) throw std::runtime_error("a message that is too short");
  std::memcpy(&header_, message_.data(), sizeof(header_));
  if (header_.frame.size != message_.size() - sizeof(header_)) {
    throw std::runtime_error("a frame of another length than it says");
  }
}

std::span<const std::byte> ZeromqFrame::data() const {
  return {static_cast<const std::byte*>(message_.data()) + sizeof(header_), header_.frame.size};
}

}  // namespace tandem::comm::zeromq
