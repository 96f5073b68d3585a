#include "models/sampler.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

namespace tandem::models {
namespace {

using Indices = std::vector<std::int64_t>;

Indices sorted(Indices values) {
  std::ranges::sort(values);
  return values;
}

Indices all_indices(std::int64_t samples) {
  Indices values(static_cast<std::size_t>(samples));
  std::iota(values.begin(), values.end(), 0);
  return values;
}

/// What all ranks take in a step, rank after rank; each rank asks a sampler of its own.
Indices global_batch(const SamplerOptions& options, std::int64_t step) {
  Indices batch;
  for (int rank = 0; rank < options.world_size; ++rank) {
    Sampler sampler(options);
    const auto share = sampler.share(step, rank);
    batch.insert(batch.end(), share.begin(), share.end());
  }
  return batch;
}

Indices epoch(const SamplerOptions& options, std::int64_t number) {
  const std::int64_t steps = Sampler(options).steps_per_epoch();
  Indices order;
  for (std::int64_t step = number * steps; step < (number + 1) * steps; ++step) {
    const Indices batch = global_batch(options, step);
    order.insert(order.end(), batch.begin(), batch.end());
  }
  return order;
}

TEST_CASE("Every epoch takes every sample once, in another order") {
  const SamplerOptions options = GENERATE(SamplerOptions{.seed = 1, .samples = 8, .world_size = 2, .batch = 2},
                                          SamplerOptions{.seed = 2, .samples = 101, .world_size = 3, .batch = 7},
                                          SamplerOptions{.seed = 3, .samples = 5, .world_size = 4, .batch = 10});
  CAPTURE(options.samples);
  const Indices first = epoch(options, 0);
  const Indices second = epoch(options, 1);
  const Indices third = epoch(options, 2);
  for (const Indices& order : {first, second, third}) CHECK(sorted(order) == all_indices(options.samples));
  CHECK(first != second);
  CHECK(second != third);
  CHECK(first != third);
}

TEST_CASE("The order depends on the seed, and not on the epochs that were asked for before") {
  const SamplerOptions options{.seed = 1, .samples = 50, .world_size = 1, .batch = 50};
  SamplerOptions other = options;
  other.seed = std::uint64_t{1} << 32;  // no bit of a seed is lost
  CHECK(epoch(options, 0) != epoch(other, 0));

  Sampler sampler(options);
  const auto share = [&](std::int64_t step) {
    const auto indices = sampler.share(step, 0);
    return Indices(indices.begin(), indices.end());
  };
  CHECK(share(3) == epoch(options, 3));
  CHECK(share(0) == epoch(options, 0));
  CHECK(share(3) == epoch(options, 3));
}

TEST_CASE("The order is the same with every compiler and standard library") {
  CHECK(epoch({.seed = 1, .samples = 10, .world_size = 1, .batch = 10}, 0) == Indices{2, 1, 8, 9, 6, 7, 3, 5, 0, 4});
}

TEST_CASE("The same global batches come whatever the number of workers") {
  const std::int64_t samples = GENERATE(48, 50, 55);
  const SamplerOptions one{.seed = 5, .samples = samples, .world_size = 1, .batch = 12};
  const int workers = GENERATE(2, 3, 4, 12);
  const SamplerOptions many{.seed = 5, .samples = samples, .world_size = workers, .batch = 12 / workers};
  CAPTURE(samples, workers);
  REQUIRE(Sampler(one).steps_per_epoch() == Sampler(many).steps_per_epoch());
  for (std::int64_t step = 0; step < 3 * Sampler(one).steps_per_epoch(); ++step) {
    CHECK(global_batch(one, step) == global_batch(many, step));
  }
}

TEST_CASE("The last step of an epoch shares out what is left; a rank for which nothing is left gets an empty share") {
  Sampler sampler({.seed = 1, .samples = 21, .world_size = 2, .batch = 10});
  REQUIRE(sampler.steps_per_epoch() == 2);
  CHECK(sampler.share(0, 0).size() == 10);
  CHECK(sampler.share(0, 1).size() == 10);
  CHECK(sampler.share(1, 0).size() == 1);
  CHECK(sampler.share(1, 1).empty());

  Sampler uneven({.seed = 1, .samples = 27, .world_size = 3, .batch = 7});
  REQUIRE(uneven.steps_per_epoch() == 2);
  CHECK(uneven.share(3, 0).size() == 2);
  CHECK(uneven.share(3, 1).size() == 2);
  CHECK(uneven.share(3, 2).size() == 2);
}

TEST_CASE("Each position is taken by each sample about equally often") {
  constexpr int samples = 6;
  constexpr int epochs = 6000;
  Sampler sampler({.seed = 9, .samples = samples, .world_size = 1, .batch = samples});
  std::vector<int> counts(samples * samples);
  for (int number = 0; number < epochs; ++number) {
    const auto order = sampler.share(number, 0);
    for (int position = 0; position < samples; ++position) {
      ++counts[static_cast<std::size_t>(position * samples + order[static_cast<std::size_t>(position)])];
    }
  }
  // 1000 each, with a standard deviation of 29; the draw is fixed by the seed.
  CHECK(*std::ranges::min_element(counts) > 880);
  CHECK(*std::ranges::max_element(counts) < 1120);
}

TEST_CASE("Even shares follow each other, cover everything and differ by at most one, the larger ones first") {
  const std::int64_t total = GENERATE(0, 1, 5, 12, 13, 1000);
  const int parts = GENERATE(1, 2, 3, 13, 16);
  CAPTURE(total, parts);
  std::int64_t next = 0;
  std::int64_t previous = even_share(total, parts, 0).count;
  CHECK(previous == (total + parts - 1) / parts);
  for (int index = 0; index < parts; ++index) {
    const Share share = even_share(total, parts, index);
    CHECK(share.first == next);
    CHECK(share.count <= previous);
    CHECK(share.count >= total / parts);
    next += share.count;
    previous = share.count;
  }
  CHECK(next == total);
}

}  // namespace
}  // namespace tandem::models
