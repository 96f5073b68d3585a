#include "models/dataset.h"

#include <cassert>

#include "models/idx.h"
#include "models/synthetic.h"

namespace tandem::models {

std::string text(const ImageShape& shape) { return std::to_string(shape.height) + "x" + std::to_string(shape.width); }

std::array<float, 256> normalized_pixels(double mean, double deviation) {
  std::array<float, 256> values;
  for (std::size_t pixel = 0; pixel < values.size(); ++pixel) {
    values[pixel] = static_cast<float>((static_cast<double>(pixel) / 255.0 - mean) / deviation);
  }
  return values;
}

Dataset load_dataset(const config::Data& data, std::uint64_t seed) {
  switch (data.kind) {
    case config::DataKind::idx:
      return load_idx(data);
    case config::DataKind::synthetic:
      return make_synthetic(data, seed);
  }
  assert(false);
  return {};
}

void gather(const Dataset& dataset, const ImageSet& set, std::span<const std::int64_t> indices, std::span<float> images,
            std::span<std::int32_t> labels) {
  const std::size_t size = dataset.shape.size();
  assert(images.size() == indices.size() * size && labels.size() == indices.size());
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const auto index = static_cast<std::size_t>(indices[i]);
    const std::uint8_t* const pixels = set.pixels.data() + index * size;
    float* const image = images.data() + i * size;
    for (std::size_t j = 0; j < size; ++j) image[j] = dataset.value_of_pixel[pixels[j]];
    labels[i] = set.labels[index];
  }
}

}  // namespace tandem::models
