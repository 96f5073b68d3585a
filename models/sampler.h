#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tandem::models {

struct SamplerOptions {
  std::uint64_t seed = 1;
  /// At least 1, like the two below.
  std::int64_t samples = 0;
  int world_size = 1;
  /// Samples a rank takes a step.
  std::int64_t batch = 1;
};

/// Which samples a rank computes on. Each epoch has an order of its own that depends on seed and epoch alone; a step
/// takes the next world_size * batch samples of it (the last step of an epoch what is left), split over the ranks in
/// rank order as evenly as possible. So every sample comes once an epoch, and the same global batches come whatever the
/// number of workers, as long as world_size * batch stays the same.
///
/// The order is the same on every machine and with every standard library.
///
/// Owner only.
class Sampler {
 public:
  explicit Sampler(const SamplerOptions& options);

  std::int64_t steps_per_epoch() const;

  /// Indices of `rank`'s samples in step `step`, counted from the start of the run; empty if there are none. Valid
  /// until the next call. The first call in an epoch puts all samples in order.
  std::span<const std::int64_t> share(std::int64_t step, int rank);

 private:
  std::int64_t global_batch() const { return options_.world_size * options_.batch; }

  SamplerOptions options_;
  std::int64_t epoch_ = -1;
  std::vector<std::int64_t> order_;
};

/// [first, first + count) of `total` things for one of `parts` owners; sizes differ by at most one, larger ones first.
struct Share {
  std::int64_t first = 0;
  std::int64_t count = 0;
};
Share even_share(std::int64_t total, int parts, int index);

}  // namespace tandem::models
