#include "models/synthetic.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>
#include <stdexcept>
#include <string>

namespace tandem::models {
namespace {

// Pixels are a pattern of `contrast` around the middle plus uniform noise of up to `noise`: together a byte.
constexpr double middle = 128;
constexpr double contrast = 47;
constexpr int noise = 80;

// A number with zeros too many should be an error, not the end of the machine's memory. Fashion-MNIST has 55 MB.
constexpr std::int64_t most_bytes = std::int64_t{8} << 30;

/// Uniform in [0, 1). std::uniform_real_distribution's values are not fixed by the standard; these are.
double uniform(std::mt19937_64& generator) { return static_cast<double>(generator() >> 11) * 0x1p-53; }

/// One channel of one class: a plane wave of one to three periods along each axis.
void append_wave(const ImageShape& shape, std::mt19937_64& generator, std::vector<std::uint8_t>& pixels) {
  const double down = 1 + 2 * uniform(generator);
  const double across = (1 + 2 * uniform(generator)) * (uniform(generator) < 0.5 ? -1 : 1);
  const double phase = uniform(generator);
  for (std::int64_t y = 0; y < shape.height; ++y) {
    for (std::int64_t x = 0; x < shape.width; ++x) {
      const double turns = phase + down * static_cast<double>(y) / static_cast<double>(shape.height) +
                           across * static_cast<double>(x) / static_cast<double>(shape.width);
      pixels.push_back(
          static_cast<std::uint8_t>(std::lround(middle + contrast * std::sin(2 * std::numbers::pi * turns))));
    }
  }
}

/// The patterns of all classes, one behind the other.
std::vector<std::uint8_t> make_patterns(const ImageShape& shape, std::int64_t classes, std::mt19937_64& generator) {
  std::vector<std::uint8_t> patterns;
  patterns.reserve(shape.size() * static_cast<std::size_t>(classes));
  for (std::int64_t wave = 0; wave < classes * shape.channels; ++wave) append_wave(shape, generator, patterns);
  return patterns;
}

void add_noise(std::span<std::uint8_t> pixels, std::mt19937_64& generator) {
  // A draw has eight bytes of noise; a byte of it is scaled to -noise..noise.
  for (std::size_t first = 0; first < pixels.size(); first += 8) {
    std::uint64_t bytes = generator();
    for (std::uint8_t& pixel : pixels.subspan(first, std::min<std::size_t>(8, pixels.size() - first))) {
      pixel = static_cast<std::uint8_t>(pixel + static_cast<int>((bytes & 255) * (2 * noise + 1) >> 8) - noise);
      bytes >>= 8;
    }
  }
}

/// `samples` images, whose classes take turns.
ImageSet make_set(std::span<const std::uint8_t> patterns, std::size_t image_size, std::int64_t samples,
                  std::mt19937_64& generator) {
  const std::size_t classes = patterns.size() / image_size;
  ImageSet set;
  set.pixels.reserve(image_size * static_cast<std::size_t>(samples));
  for (std::size_t sample = 0; sample < static_cast<std::size_t>(samples); ++sample) {
    const std::size_t label = sample % classes;
    const auto pattern = patterns.subspan(label * image_size, image_size);
    set.pixels.insert(set.pixels.end(), pattern.begin(), pattern.end());
    set.labels.push_back(static_cast<std::int32_t>(label));
  }
  add_noise(set.pixels, generator);
  return set;
}

/// Throws unless all images, their labels and the patterns fit into most_bytes.
void check_size(const config::Data& data, const ImageShape& shape) {
  const auto image = static_cast<std::int64_t>(shape.size());
  const auto label = static_cast<std::int64_t>(sizeof(decltype(ImageSet::labels)::value_type));
  // The schema's ranges keep this below 2^54.
  const std::int64_t bytes = (data.samples + data.test_samples) * (image + label) + data.classes * image;
  if (bytes <= most_bytes) return;
  throw std::runtime_error(
      "data.samples, data.test_samples, data.classes, data.channels, data.height and data.width ask for " +
      std::to_string(bytes) + " bytes of synthetic images, but at most " + std::to_string(most_bytes) + " are allowed");
}

}  // namespace

Dataset make_synthetic(const config::Data& data, std::uint64_t seed) {
  const ImageShape shape{.channels = data.channels, .height = data.height, .width = data.width};
  check_size(data, shape);
  std::mt19937_64 generator(seed);
  const std::vector<std::uint8_t> patterns = make_patterns(shape, data.classes, generator);
  ImageSet train = make_set(patterns, shape.size(), data.samples, generator);
  ImageSet test = make_set(patterns, shape.size(), data.test_samples, generator);
  return {.shape = shape,
          .classes = data.classes,
          .value_of_pixel = normalized_pixels(middle / 255, contrast / 255),
          .train = std::move(train),
          .test = std::move(test)};
}

}  // namespace tandem::models
