#pragma once

#include <cstddef>

namespace tandem::comm::in_process {

/// What the ranks of a group do together once all of them have come to a collective.
class SharedWork {
 public:
  virtual ~SharedWork() = default;

  /// Prepares the work; returns the number of chunks it is cut into, at least 1 even if there is nothing to do. Called
  /// once a collective by the rank that comes last, before any chunk: all ranks have entered this collective, so none
  /// is in an earlier one any more.
  virtual std::size_t begin() = 0;

  /// Does one chunk. Each chunk is done once, by any rank, several at the same time.
  virtual void run(std::size_t chunk) noexcept = 0;
};

/// For collectives that only meet.
class NoWork : public SharedWork {
 public:
  std::size_t begin() override { return 1; }
  void run(std::size_t) noexcept override {}
};

}  // namespace tandem::comm::in_process
