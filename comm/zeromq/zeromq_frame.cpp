#include "comm/zeromq/zeromq_frame.h"

#include <cstring>
#include <stdexcept>
#include <utility>

namespace tandem::comm::zeromq {

zmq::message_t make_message(const peer_group::FrameParts& parts) {
  zmq::message_t message(sizeof(FrameNumber) + size_of(parts));
  write_frame(parts, static_cast<std::byte*>(message.data()) + sizeof(FrameNumber));
  return message;
}

void set_number(zmq::message_t& message, FrameNumber number) { std::memcpy(message.data(), &number, sizeof(number)); }

ZeromqFrame::ZeromqFrame(zmq::message_t message) : message_(std::move(message)) {
  if (message_.more()) throw std::runtime_error("a message in several parts");
  if (message_.size() < sizeof(FrameNumber)) throw std::runtime_error("a message that is too short");
  check_part();
}

FrameNumber ZeromqFrame::number() const {
  FrameNumber number = 0;
  std::memcpy(&number, message_.data(), sizeof(number));
  return number;
}

std::span<const std::byte> ZeromqFrame::memory() const {
  return std::span(static_cast<const std::byte*>(message_.data()), message_.size()).subspan(sizeof(FrameNumber));
}

}  // namespace tandem::comm::zeromq
