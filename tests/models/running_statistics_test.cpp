#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "models/dataset.h"
#include "models/replica_fixture.h"
#include "models/sampler.h"

namespace tandem::models {
namespace {

constexpr std::size_t stem_channels = 64;

/// The output of resnet18's first convolution (3x3, stride 1, zeros around) at one place.
double convolve(const Dataset& dataset, std::span<const float> image, std::span<const float> kernel, std::int64_t y,
                std::int64_t x) {
  const auto [channels, height, width] = dataset.shape;
  double sum = 0;
  for (std::int64_t channel = 0; channel < channels; ++channel) {
    for (std::int64_t i = 0; i < 9; ++i) {
      const std::int64_t row = y + i / 3 - 1;
      const std::int64_t column = x + i % 3 - 1;
      if (row < 0 || row >= height || column < 0 || column >= width) continue;
      sum += static_cast<double>(kernel[static_cast<std::size_t>(channel * 9 + i)]) *
             image[static_cast<std::size_t>((channel * height + row) * width + column)];
    }
  }
  return sum;
}

struct Moments {
  double mean = 0;
  double unbiased_variance = 0;
};

/// Of one channel of the first convolution's output over a batch.
Moments stem_moments(const Dataset& dataset, std::span<const float> images, std::span<const float> kernel) {
  std::vector<double> values;
  for (std::size_t first = 0; first < images.size(); first += dataset.shape.size()) {
    for (std::int64_t y = 0; y < dataset.shape.height; ++y) {
      for (std::int64_t x = 0; x < dataset.shape.width; ++x) {
        values.push_back(convolve(dataset, images.subspan(first, dataset.shape.size()), kernel, y, x));
      }
    }
  }
  const auto count = static_cast<double>(values.size());
  Moments moments;
  for (const double value : values) moments.mean += value / count;
  for (const double value : values) moments.unbiased_variance += std::pow(value - moments.mean, 2) / (count - 1);
  return moments;
}

/// The images that a single worker computes on in step 0.
Vector first_batch(const config::Job& job, const Dataset& dataset) {
  Sampler sampler(
      {.seed = job.training.seed, .samples = job.data.samples, .world_size = 1, .batch = job.training.batch});
  const auto indices = sampler.share(0, 0);
  Vector images(indices.size() * dataset.shape.size());
  std::vector<std::int32_t> labels(indices.size());
  gather(dataset, dataset.train, indices, images, labels);
  return images;
}

TEST_CASE("an update moves the running statistics a tenth of the way to the batch's, as PyTorch does") {
  const config::Job job = small_job(config::ModelKind::resnet18);
  const auto replica = make_replica(job);
  REQUIRE(replica->parameters()[0].name == "stem.weight");
  const Vector weights = copy_of(replica->weights());
  const std::span<const float> kernels = std::span<const float>(weights).first(stem_channels * 18);
  const Dataset dataset = load_dataset(job.data, job.training.seed);
  const Vector images = first_batch(job, dataset);

  train(*replica, 0, 1);

  const std::span<const float> statistics = replica->weights().subspan(replica->parameter_count());
  for (const std::size_t channel : {std::size_t{0}, std::size_t{17}, stem_channels - 1}) {
    const Moments moments = stem_moments(dataset, images, kernels.subspan(channel * 18, 18));
    CHECK(statistics[channel] == Approx(0.1 * moments.mean).margin(1e-5));
    CHECK(statistics[stem_channels + channel] == Approx(0.9 + 0.1 * moments.unbiased_variance).epsilon(1e-5));
  }
}

TEST_CASE("computing does not change the replica's state, its running statistics included") {
  const auto replica = make_replica(small_job(config::ModelKind::resnet18));
  const Vector before = copy_of(replica->weights());
  const Vector gradient = compute(*replica, 0).gradient;
  CHECK(copy_of(replica->weights()) == before);
  CHECK(compute(*replica, 0).gradient == gradient);
}

TEST_CASE("evaluation uses the running statistics") {
  const auto replica = make_replica(small_job(config::ModelKind::resnet18));
  const double before = replica->evaluate().loss_sum;
  Vector update(replica->size(), 0.0F);
  std::fill(update.begin() + static_cast<long>(replica->parameter_count()), update.end(), 0.25F);
  apply_update(*replica, 0, update);
  CHECK(replica->evaluate().loss_sum != before);
}

TEST_CASE("models without batch normalization have no running statistics") {
  const auto replica = make_replica(small_job(config::ModelKind::mlp));
  CHECK(replica->size() == replica->parameter_count());
}

}  // namespace
}  // namespace tandem::models
