#include "comm/gloo/frame.h"

#include <cstring>
#include <mutex>

namespace tandem::comm::gloo_transport {

Frame::Frame(const std::shared_ptr<Context>& context)
    : memory_(std::make_unique_for_overwrite<std::byte[]>(sizeof(FrameHeader) + capacity)),
      buffer_(context, memory_.get(), sizeof(FrameHeader) + capacity) {}

void Frame::fill(const FrameHeader& header, std::span<const std::byte> data) {
  std::memcpy(memory_.get(), &header, sizeof(header));
  if (!data.empty()) std::memcpy(memory_.get() + sizeof(header), data.data(), data.size());
}

FrameHeader Frame::header() const {
  FrameHeader header;
  std::memcpy(&header, memory_.get(), sizeof(header));
  return header;
}

std::span<const std::byte> Frame::data() const { return {memory_.get() + sizeof(FrameHeader), header().size}; }

bool Frame::Buffer::take_sent() {
  const std::lock_guard<std::mutex> lock(m_);
  if (sendCompletions_ == 0) return false;
  --sendCompletions_;
  return true;
}

bool Frame::Buffer::take_received() {
  const std::lock_guard<std::mutex> lock(m_);
  if (recvCompletions_ == 0) return false;
  --recvCompletions_;
  return true;
}

}  // namespace tandem::comm::gloo_transport
