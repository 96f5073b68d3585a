#include "comm/gloo/gloo_frame.h"

#include <cstring>
#include <mutex>

namespace tandem::comm::gloo_transport {

using peer_group::FrameHeader;

GlooFrame::GlooFrame(const std::shared_ptr<Context>& context)
    : memory_(std::make_unique_for_overwrite<std::byte[]>(bytes)), buffer_(context, memory_.get(), bytes) {}

void GlooFrame::fill(const FrameHeader& header, std::span<const std::byte> data) {
  std::memcpy(memory_.get(), &header, sizeof(header));
  if (!data.empty()) std::memcpy(memory_.get() + sizeof(header), data.data(), data.size());
}

FrameHeader GlooFrame::header() const {
  FrameHeader header;
  std::memcpy(&header, memory_.get(), sizeof(header));
  return header;
}

std::span<const std::byte> GlooFrame::data() const { return {memory_.get() + sizeof(FrameHeader), header().size}; }

bool GlooFrame::Buffer::take_sent() {
  const std::lock_guard<std::mutex> lock(m_);
  if (sendCompletions_ == 0) return false;
  --sendCompletions_;
  return true;
}

bool GlooFrame::Buffer::take_received() {
  const std::lock_guard<std::mutex> lock(m_);
  if (recvCompletions_ == 0) return false;
  --recvCompletions_;
  return true;
}

}  // namespace tandem::comm::gloo_transport
