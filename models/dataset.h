#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "config/job.h"

namespace tandem::models {

struct ImageShape {
  std::int64_t channels = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;

  /// Values an image has.
  std::size_t size() const { return static_cast<std::size_t>(channels * height * width); }
  bool operator==(const ImageShape&) const = default;
};

/// Height and width, as errors name them: "28x28".
std::string text(const ImageShape& shape);

/// Images of one shape with what they show. Pixels stay bytes, a quarter of the memory of floats.
struct ImageSet {
  /// samples() images, each of shape [channels, height, width].
  std::vector<std::uint8_t> pixels;
  /// The class of each image, from 0.
  std::vector<std::int32_t> labels;

  std::int64_t samples() const { return static_cast<std::int64_t>(labels.size()); }
};

/// What a model learns and is tested on. Never changed once loaded, so any number of threads may read it.
struct Dataset {
  ImageShape shape;
  std::int64_t classes = 0;
  /// The value that a model sees for each pixel byte.
  std::array<float, 256> value_of_pixel{};
  ImageSet train;
  ImageSet test;
};

/// (pixel / 255 - mean) / deviation for each pixel.
std::array<float, 256> normalized_pixels(double mean, double deviation);

/// Reads the job's data set, or makes it if it is synthetic. Throws std::runtime_error if it is missing (and says how
/// to get it), broken (and says which file and why) or, if synthetic, too large (and says which keys make it so).
Dataset load_dataset(const config::Data& data, std::uint64_t seed);

/// Writes the images of `set` at `indices` to `images` (indices.size() * shape.size() values) and their labels to
/// `labels` (indices.size()). `set` is one of the two of `dataset`.
void gather(const Dataset& dataset, const ImageSet& set, std::span<const std::int64_t> indices, std::span<float> images,
            std::span<std::int32_t> labels);

}  // namespace tandem::models
