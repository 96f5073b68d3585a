#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "comm/communicator.h"
#include "comm/in_process/shared_work.h"
#include "comm/weighted_sum.h"

namespace tandem::comm::in_process {

/// The sum in all_reduce_mean. Contributions are read where they lie; the mean is written once, for all ranks.
///
/// Means lie in `results_kept` buffers used in turn, so call c overwrites the mean of call c - results_kept. begin() of
/// call c runs when all ranks have entered call c, and a rank that has entered call c has given up that mean
/// (Mean::values): no rank can still be reading what is overwritten.
class MeanWork : public SharedWork {
 public:
  MeanWork(int ranks, int results_kept);

  /// Called by each rank before it meets the others.
  void post(int rank, const Contribution& contribution);
  /// Called by each rank after it has met the others, before it enters the next collective. Reads nothing that post()
  /// writes: other ranks may be on their way to the next collective.
  Mean result() const;

  std::size_t begin() override;
  void run(std::size_t chunk) noexcept override;

 private:
  struct Buffer {
    std::unique_ptr<float[]> values;
    std::size_t capacity = 0;
  };

  std::span<float> next_buffer(std::size_t size);
  void note_non_finite(std::size_t begin, std::size_t size);

  std::vector<Contribution> contributions_;  // by rank
  std::vector<Buffer> buffers_;
  std::size_t calls_ = 0;

  // Written by begin().
  std::vector<Term> terms_;  // of the ranks whose weight is not 0, in rank order
  std::span<float> sum_;
  Mean mean_;  // but for what run() finds out

  // Written by any rank in run().
  std::atomic<bool> finite_ = true;
  std::atomic<int> lowest_non_finite_ = 0;  // the number of ranks: none
};

}  // namespace tandem::comm::in_process
