#include "models/synthetic.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

namespace tandem::models {
namespace {

config::Data small_data() {
  config::Data data;
  data.kind = config::DataKind::synthetic;
  data.samples = 603;
  data.test_samples = 101;
  data.channels = 3;
  data.height = 9;
  data.width = 7;
  data.classes = 5;
  return data;
}

std::int64_t images_of_class(const ImageSet& set, std::int32_t label) {
  return std::count(set.labels.begin(), set.labels.end(), label);
}

/// The mean image of each class, one behind the other.
std::vector<double> class_means(const Dataset& dataset) {
  const std::size_t size = dataset.shape.size();
  std::vector<double> means(size * static_cast<std::size_t>(dataset.classes));
  for (std::size_t i = 0; i < dataset.train.labels.size(); ++i) {
    const auto label = static_cast<std::size_t>(dataset.train.labels[i]);
    const auto images = static_cast<double>(images_of_class(dataset.train, dataset.train.labels[i]));
    for (std::size_t j = 0; j < size; ++j) means[label * size + j] += dataset.train.pixels[i * size + j] / images;
  }
  return means;
}

/// The class whose mean is nearest to test image `index`.
std::size_t nearest_mean(const Dataset& dataset, const std::vector<double>& means, std::size_t index) {
  const std::size_t size = dataset.shape.size();
  std::vector<double> distances;
  for (std::size_t first = 0; first < means.size(); first += size) {
    double distance = 0;
    for (std::size_t j = 0; j < size; ++j) {
      distance += std::pow(dataset.test.pixels[index * size + j] - means[first + j], 2);
    }
    distances.push_back(distance);
  }
  return static_cast<std::size_t>(std::min_element(distances.begin(), distances.end()) - distances.begin());
}

TEST_CASE("synthetic data has the shape, number and classes asked for") {
  const Dataset dataset = make_synthetic(small_data(), 1);
  CHECK(dataset.shape == ImageShape{.channels = 3, .height = 9, .width = 7});
  CHECK(dataset.classes == 5);
  CHECK(dataset.train.samples() == 603);
  CHECK(dataset.test.samples() == 101);
  CHECK(dataset.train.pixels.size() == 603 * 3 * 9 * 7);
  for (std::int32_t label = 0; label < 5; ++label) CHECK(images_of_class(dataset.train, label) >= 120);
}

TEST_CASE("synthetic data depends on the seed alone") {
  const Dataset first = make_synthetic(small_data(), 1);
  const Dataset again = make_synthetic(small_data(), 1);
  const Dataset other = make_synthetic(small_data(), 2);
  CHECK(first.train.pixels == again.train.pixels);
  CHECK(first.test.pixels == again.test.pixels);
  CHECK(first.train.pixels != other.train.pixels);
}

TEST_CASE("synthetic data that would not fit into memory is refused with its keys, bytes and the most allowed") {
  config::Data data = small_data();
  data.samples = 100'000'000;
  data.test_samples = 100'000'000;
  data.channels = 64;
  data.height = 1024;
  data.width = 1024;
  data.classes = 100'000;
  CHECK_THROWS_WITH(make_synthetic(data, 1),
                    Catch::Equals("data.samples, data.test_samples, data.classes, data.channels, data.height and "
                                  "data.width ask for 13428484486400000 bytes of synthetic images, but at most "
                                  "8589934592 are allowed"));
  data.samples = 1;
  data.test_samples = 1;
  CHECK_THROWS_AS(make_synthetic(data, 1), std::runtime_error);
}

TEST_CASE("synthetic images of a class differ") {
  const Dataset dataset = make_synthetic(small_data(), 1);
  const auto image = [&](std::size_t index) {
    const auto first = dataset.train.pixels.begin() + static_cast<long>(index * dataset.shape.size());
    return std::vector<std::uint8_t>(first, first + static_cast<long>(dataset.shape.size()));
  };
  REQUIRE(dataset.train.labels[0] == dataset.train.labels[5]);
  CHECK(image(0) != image(5));
}

TEST_CASE("what synthetic training images teach holds for the test images") {
  const Dataset dataset = make_synthetic(small_data(), 1);
  const std::vector<double> means = class_means(dataset);
  std::int64_t correct = 0;
  for (std::size_t i = 0; i < dataset.test.labels.size(); ++i) {
    correct += nearest_mean(dataset, means, i) == static_cast<std::size_t>(dataset.test.labels[i]) ? 1 : 0;
  }
  CHECK(correct >= 95);
}

}  // namespace
}  // namespace tandem::models
