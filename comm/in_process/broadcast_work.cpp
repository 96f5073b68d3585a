#include "comm/in_process/broadcast_work.h"

#include <algorithm>
#include <cstring>

#include "comm/in_process/group_state.h"

namespace tandem::comm::in_process {
namespace {

constexpr std::size_t kChunkBytes = 256 * 1024;  // stays in the second-level cache while it is copied to all ranks

}  // namespace

BroadcastWork::BroadcastWork(int ranks) : parts_(index(ranks)) {}

void BroadcastWork::post(int rank, int root, std::span<std::byte> data) { parts_[index(rank)] = {root, data}; }

std::size_t BroadcastWork::begin() {
  return std::max<std::size_t>(1, (parts_.front().data.size() + kChunkBytes - 1) / kChunkBytes);
}

void BroadcastWork::run(std::size_t chunk) noexcept {
  const std::size_t begin = chunk * kChunkBytes;
  const std::span<const std::byte> source = parts_[index(parts_.front().root)].data;
  const auto piece = source.subspan(begin, std::min(kChunkBytes, source.size() - begin));
  for (const Part& part : parts_) {
    // Not the library's copy, which goes byte by byte here.
    if (part.data.data() != source.data() && !piece.empty()) {
      std::memcpy(part.data.data() + begin, piece.data(), piece.size());
    }
  }
}

}  // namespace tandem::comm::in_process
