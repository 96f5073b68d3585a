#include "comm/gloo/gloo_frame.h"

#include <mutex>

namespace tandem::comm::gloo_transport {

GlooFrame::GlooFrame(const std::shared_ptr<Context>& context)
    : memory_(std::make_unique_for_overwrite<std::byte[]>(peer_group::frame_capacity)),
      buffer_(context, memory_.get(), peer_group::frame_capacity) {}

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
