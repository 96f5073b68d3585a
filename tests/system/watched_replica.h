#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "models/replica.h"

namespace tandem::test {

/// What watched replicas have seen. Safe from any thread.
class Watch {
 public:
  /// A fingerprint of the true weights of a rank after each advance that applied something.
  std::vector<std::size_t> fingerprints(int rank) const;
  std::vector<float> last_weights(int rank) const;
  /// The most threads that this process had while a gradient was computed, those of LibTorch and BLAS among them.
  int most_threads() const;

  void saw_weights(int rank, std::span<const float> weights);
  void count_threads();

 private:
  mutable std::mutex mutex_;
  std::map<int, std::vector<std::size_t>> fingerprints_;
  std::map<int, std::vector<float>> last_;
  int most_threads_ = 0;
};

/// Replicas that do what those of `replicas` do, watched.
models::ReplicaFactory watched(models::ReplicaFactory replicas, std::shared_ptr<Watch> watch);

}  // namespace tandem::test
