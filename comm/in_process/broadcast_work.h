#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "comm/in_process/shared_work.h"

namespace tandem::comm::in_process {

/// The copying in broadcast, straight from the root's memory into that of all others.
class BroadcastWork : public SharedWork {
 public:
  explicit BroadcastWork(int ranks);

  /// Called by each rank before it meets the others. The root is the same on all ranks.
  void post(int rank, int root, std::span<std::byte> data);

  std::size_t begin() override;
  void run(std::size_t chunk) noexcept override;

 private:
  struct Part {
    int root = 0;
    std::span<std::byte> data;
  };

  std::vector<Part> parts_;  // by rank
};

}  // namespace tandem::comm::in_process
