#include "comm/reference_mean.h"

#include <numeric>
#include <random>

namespace tandem::comm::test {

float reference_mean(std::span<const std::vector<float>> contributions, std::span<const double> weights,
                     std::size_t i) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  float mean = 0;
  bool first = true;
  for (std::size_t rank = 0; rank < contributions.size(); ++rank) {
    if (weights[rank] == 0) continue;
    const float product = contributions[rank][i] * static_cast<float>(weights[rank] / sum);
    mean = first ? product : mean + product;
    first = false;
  }
  return mean;
}

std::vector<double> exact_mean(std::span<const std::vector<float>> contributions, std::span<const double> weights) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<double> mean(contributions.front().size());
  for (std::size_t rank = 0; rank < contributions.size(); ++rank) {
    if (weights[rank] == 0) continue;
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += weights[rank] / sum * contributions[rank][i];
  }
  return mean;
}

std::vector<float> random_values(std::size_t size, std::uint64_t seed, int rank, std::int64_t step) {
  std::seed_seq seeds{seed, static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(step)};
  std::minstd_rand random(seeds);
  std::vector<float> values(size);
  for (float& value : values) value = static_cast<float>(random()) / static_cast<float>(random.max()) * 2 - 1;
  return values;
}

}  // namespace tandem::comm::test
