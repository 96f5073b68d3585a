#include "models/sampler.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <random>
#include <utility>

namespace tandem::models {
namespace {

// The standard fixes every bit of seed_seq and mt19937_64, but not of uniform_int_distribution and std::shuffle.

std::mt19937_64 make_generator(std::uint64_t seed, std::int64_t epoch) {
  const auto low = [](std::uint64_t value) { return static_cast<std::uint32_t>(value); };
  const auto high = [](std::uint64_t value) { return static_cast<std::uint32_t>(value >> 32); };
  const auto number = static_cast<std::uint64_t>(epoch);
  std::seed_seq words{low(seed), high(seed), low(number), high(number)};
  return std::mt19937_64(words);
}

/// Uniform in [0, bound): draws again below 2^64 mod bound, so that as many draws are left for each remainder.
std::uint64_t draw(std::mt19937_64& generator, std::uint64_t bound) {
  const std::uint64_t surplus = (0 - bound) % bound;
  std::uint64_t value = generator();
  while (value < surplus) value = generator();
  return value % bound;
}

/// Fisher and Yates.
void shuffle(std::vector<std::int64_t>& values, std::mt19937_64 generator) {
  for (std::size_t left = values.size(); left > 1; --left) std::swap(values[left - 1], values[draw(generator, left)]);
}

}  // namespace

Sampler::Sampler(const SamplerOptions& options) : options_(options) {
  assert(options.samples >= 1 && options.world_size >= 1 && options.batch >= 1);
}

std::int64_t Sampler::steps_per_epoch() const { return (options_.samples + global_batch() - 1) / global_batch(); }

std::span<const std::int64_t> Sampler::share(std::int64_t step, int rank) {
  const std::int64_t epoch = step / steps_per_epoch();
  if (epoch != epoch_) {
    order_.resize(static_cast<std::size_t>(options_.samples));
    std::iota(order_.begin(), order_.end(), 0);
    shuffle(order_, make_generator(options_.seed, epoch));
    epoch_ = epoch;
  }
  const std::int64_t first = step % steps_per_epoch() * global_batch();
  const Share share = even_share(std::min(global_batch(), options_.samples - first), options_.world_size, rank);
  return std::span<const std::int64_t>(order_).subspan(static_cast<std::size_t>(first + share.first),
                                                       static_cast<std::size_t>(share.count));
}

Share even_share(std::int64_t total, int parts, int index) {
  assert(parts >= 1 && index >= 0 && index < parts);
  const std::int64_t size = total / parts;
  const std::int64_t larger = total % parts;
  return {.first = index * size + std::min<std::int64_t>(index, larger), .count = size + (index < larger ? 1 : 0)};
}

}  // namespace tandem::models
