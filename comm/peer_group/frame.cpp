#include "comm/peer_group/frame.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <stdexcept>

namespace tandem::comm::peer_group {

std::vector<FrameParts> frames_of(FrameKind kind, std::span<const Message> messages) {
  std::vector<FrameParts> frames;
  bool last_is_open = false;  // it ends with all of a short message
  for (const auto& [tag, data] : messages) {
    std::size_t done = 0;
    do {
      const std::size_t needed = sizeof(FrameHeader) + std::min(data.size() - done, short_message);
      if (!last_is_open || size_of(frames.back()) + needed > frame_capacity) {
        frames.emplace_back();
      } else {
        frames.back().back().header.more = 1;
      }
      const std::size_t room = frame_capacity - size_of(frames.back()) - sizeof(FrameHeader);
      const auto part = data.subspan(done, std::min(room, data.size() - done));
      frames.back().push_back({{.kind = kind, .tag = tag, .size = part.size(), .message_size = data.size()}, part});
      done += part.size();
      last_is_open = data.size() <= short_message;
    } while (done < data.size());
  }
  return frames;
}

std::size_t size_of(const FrameParts& parts) {
  return std::accumulate(parts.begin(), parts.end(), std::size_t{0}, [](std::size_t sum, const FramePart& part) {
    return sum + sizeof(FrameHeader) + part.data.size();
  });
}

void write_frame(const FrameParts& parts, std::byte* memory) {
  for (const FramePart& part : parts) {
    std::memcpy(memory, &part.header, sizeof(part.header));
    memory += sizeof(part.header);
    if (!part.data.empty()) std::memcpy(memory, part.data.data(), part.data.size());
    memory += part.data.size();
  }
}

FrameHeader Frame::header() const {
  FrameHeader header;
  std::memcpy(&header, memory().data() + offset_, sizeof(header));
  return header;
}

std::span<const std::byte> Frame::data() const {
  return memory().subspan(offset_ + sizeof(FrameHeader), header().size);
}

void Frame::check_part() const {
  const std::size_t left = memory().size() - offset_;
  if (left < sizeof(FrameHeader) || left - sizeof(FrameHeader) < header().size) {
    throw std::runtime_error("a frame that is shorter than it says");
  }
}

bool Frame::next_part() {
  const FrameHeader part = header();
  if (part.more == 0) return false;
  offset_ += sizeof(part) + part.size;
  return true;
}

}  // namespace tandem::comm::peer_group
