#include "models/network.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <random>
#include <string>

#include "models/cross_entropy.h"
#include "models/zoo.h"

namespace tandem::models {
namespace {

constexpr ImageShape shape{.channels = 2, .height = 8, .width = 9};
constexpr std::int64_t classes = 4;

using Vector = std::vector<float>;

struct Batch {
  Vector images;
  std::vector<std::int32_t> labels;

  Network::Images view() const { return {.samples = std::ssize(labels), .values = images}; }
};

Batch random_batch(std::size_t samples) {
  std::mt19937 generator(7);
  std::normal_distribution<float> normal;
  Batch batch{.images = Vector(samples * shape.size()), .labels = std::vector<std::int32_t>(samples)};
  for (float& value : batch.images) value = normal(generator);
  for (std::int32_t& label : batch.labels) label = static_cast<std::int32_t>(generator() % classes);
  return batch;
}

/// A network with its state, and what it computes on a batch.
struct Fixture {
  explicit Fixture(const config::Model& model)
      : network(make_network(model, shape, classes)),
        parameters(network->parameter_count()),
        statistics(network->statistic_count()) {
    network->initialize(3, parameters, statistics);
  }

  std::span<float> forward(const Batch& batch) {
    moved_statistics = statistics;
    return network->forward({.parameters = parameters, .statistics = moved_statistics}, batch.view(),
                            Network::Mode::train);
  }

  /// The mean loss.
  double loss(const Batch& batch) {
    return softmax_cross_entropy(forward(batch), batch.labels).loss_sum / static_cast<double>(batch.labels.size());
  }

  Vector gradient(const Batch& batch) {
    Vector values(parameters.size(), -77.0F);
    const std::span<float> logits = forward(batch);
    softmax_cross_entropy(logits, batch.labels);
    network->backward(logits, values);
    return values;
  }

  std::unique_ptr<Network> network;
  Vector parameters;
  Vector statistics;
  Vector moved_statistics;
};

config::Model model_of(config::ModelKind kind, std::vector<std::int64_t> hidden = {}) {
  config::Model model;
  model.kind = kind;
  model.hidden = std::move(hidden);
  return model;
}

double norm(std::span<const float> values) {
  return std::sqrt(std::inner_product(values.begin(), values.end(), values.begin(), 0.0));
}

/// Loss and gradient of fully connected layers with ReLU between them, one sample at a time, in double precision.
class PlainDense {
 public:
  PlainDense(const Vector& parameters, std::vector<std::size_t> sizes)
      : parameters_(parameters.begin(), parameters.end()), sizes_(std::move(sizes)), gradient_(parameters.size()) {}

  void add_sample(std::span<const float> image, std::size_t label, double weight) {
    std::vector<std::vector<double>> inputs = {{image.begin(), image.end()}};
    for (std::size_t layer = 0; layer + 1 < sizes_.size(); ++layer) inputs.push_back(output(layer, inputs.back()));
    std::vector<double> delta = softmax(inputs.back());
    loss_ -= weight * std::log(delta[label]);
    delta[label] -= 1;
    for (double& value : delta) value *= weight;
    for (std::size_t layer = sizes_.size() - 1; layer-- > 0;) delta = backward(layer, inputs[layer], delta);
  }

  double loss() const { return loss_; }
  const std::vector<double>& gradient() const { return gradient_; }

 private:
  std::size_t weight(std::size_t layer, std::size_t to, std::size_t from) const {
    std::size_t first = 0;
    for (std::size_t i = 0; i < layer; ++i) first += (sizes_[i] + 1) * sizes_[i + 1];
    return first + to * sizes_[layer] + from;
  }
  std::size_t bias(std::size_t layer, std::size_t to) const { return weight(layer, sizes_[layer + 1], 0) + to; }

  std::vector<double> output(std::size_t layer, const std::vector<double>& input) const {
    const bool last = layer + 2 == sizes_.size();
    std::vector<double> values;
    for (std::size_t to = 0; to < sizes_[layer + 1]; ++to) {
      double value = parameters_[bias(layer, to)];
      for (std::size_t from = 0; from < input.size(); ++from)
        value += parameters_[weight(layer, to, from)] * input[from];
      values.push_back(last ? value : std::max(value, 0.0));
    }
    return values;
  }

  static std::vector<double> softmax(std::vector<double> logits) {
    double sum = 0;
    for (double& value : logits) sum += value = std::exp(value);
    for (double& value : logits) value /= sum;
    return logits;
  }

  /// Adds the layer's gradient; returns the derivative before the ReLU below it.
  std::vector<double> backward(std::size_t layer, const std::vector<double>& input, const std::vector<double>& delta) {
    std::vector<double> below(input.size());
    for (std::size_t to = 0; to < delta.size(); ++to) {
      gradient_[bias(layer, to)] += delta[to];
      for (std::size_t from = 0; from < input.size(); ++from) {
        gradient_[weight(layer, to, from)] += delta[to] * input[from];
        if (input[from] > 0) below[from] += delta[to] * parameters_[weight(layer, to, from)];
      }
    }
    return below;
  }

  std::vector<double> parameters_;
  std::vector<std::size_t> sizes_;
  std::vector<double> gradient_;
  double loss_ = 0;
};

void check_against_plain(const config::Model& model, const std::vector<std::size_t>& sizes) {
  Fixture fixture(model);
  // Different sizes in turn, since a network keeps memory from batch to batch.
  for (const std::size_t samples : {5, 1, 17, 5}) {
    const Batch batch = random_batch(samples);
    PlainDense plain(fixture.parameters, sizes);
    for (std::size_t i = 0; i < samples; ++i) {
      plain.add_sample(std::span<const float>(batch.images).subspan(i * shape.size(), shape.size()),
                       static_cast<std::size_t>(batch.labels[i]), 1.0 / static_cast<double>(samples));
    }
    CHECK(fixture.loss(batch) == Approx(plain.loss()).epsilon(1e-5));
    const Vector gradient = fixture.gradient(batch);
    Vector difference;
    std::transform(gradient.begin(), gradient.end(), plain.gradient().begin(), std::back_inserter(difference),
                   [](float value, double expected) { return static_cast<float>(value - expected); });
    CHECK(norm(difference) <= 1e-5 * norm(gradient));
  }
}

TEST_CASE("softmax: loss and gradient equal a plain reference") {
  check_against_plain(model_of(config::ModelKind::softmax), {shape.size(), classes});
}

TEST_CASE("mlp: loss and gradient equal a plain reference") {
  check_against_plain(model_of(config::ModelKind::mlp, {11}), {shape.size(), 11, classes});
  check_against_plain(model_of(config::ModelKind::mlp, {13, 9, 6}), {shape.size(), 13, 9, 6, classes});
}

TEST_CASE("the gradient of every parameter of resnet18 agrees with differences of the loss") {
  Fixture fixture(model_of(config::ModelKind::resnet18));
  const Batch batch = random_batch(8);
  const Vector gradient = fixture.gradient(batch);
  const Vector start = fixture.parameters;
  std::size_t first = 0;
  for (const Parameter& parameter : fixture.network->parameters()) {
    const auto size = static_cast<std::size_t>(
        std::accumulate(parameter.shape.begin(), parameter.shape.end(), std::int64_t{1}, std::multiplies<>()));
    const std::span<const float> slope = std::span<const float>(gradient).subspan(first, size);
    // Along the gradient of this parameter alone the loss must change by the gradient's norm a unit of way.
    const double steepness = norm(slope);
    const double way = std::min(2e-3 / steepness, 0.02);
    const auto loss_at = [&](double distance) {
      fixture.parameters = start;
      for (std::size_t i = 0; i < size; ++i) {
        fixture.parameters[first + i] += static_cast<float>(distance / steepness * slope[i]);
      }
      return fixture.loss(batch);
    };
    INFO(parameter.name);
    CHECK((loss_at(way) - loss_at(-way)) / (2 * way) == Approx(steepness).epsilon(0.02));
    first += size;
  }
  CHECK(first == gradient.size());
}

TEST_CASE("a network's gradient comes out the same again, whatever was computed in between") {
  for (const config::Model& model :
       {model_of(config::ModelKind::mlp, {20, 10}), model_of(config::ModelKind::resnet18)}) {
    Fixture fixture(model);
    const Batch batch = random_batch(6);
    const Vector gradient = fixture.gradient(batch);
    fixture.gradient(random_batch(3));
    fixture.network->forward({.parameters = fixture.parameters, .statistics = fixture.statistics},
                             random_batch(40).view(), Network::Mode::evaluate);
    CHECK(fixture.gradient(batch) == gradient);
  }
}

TEST_CASE("evaluation leaves the running statistics alone, and each sample's logits do not depend on the others") {
  Fixture fixture(model_of(config::ModelKind::resnet18));
  const Batch batch = random_batch(6);
  const auto evaluate = [&](std::int64_t samples) {
    const Network::Images images{
        .samples = samples,
        .values = std::span<const float>(batch.images).first(static_cast<std::size_t>(samples) * shape.size())};
    const auto logits = fixture.network->forward({.parameters = fixture.parameters, .statistics = fixture.statistics},
                                                 images, Network::Mode::evaluate);
    return Vector(logits.begin(), logits.end());
  };
  const Vector statistics = fixture.statistics;
  const Vector all = evaluate(6);
  const Vector two = evaluate(2);
  CHECK(fixture.statistics == statistics);
  for (std::size_t i = 0; i < two.size(); ++i) CHECK(two[i] == Approx(all[i]).margin(1e-4));
}

std::size_t parameters_of(const config::Model& model, const ImageShape& images) {
  return make_network(model, images, 10)->parameter_count();
}

TEST_CASE("the zoo's models have as many parameters as the architectures say") {
  constexpr ImageShape mnist{.channels = 1, .height = 28, .width = 28};
  constexpr ImageShape cifar{.channels = 3, .height = 32, .width = 32};
  CHECK(parameters_of(model_of(config::ModelKind::softmax), mnist) == 7850);
  CHECK(parameters_of(model_of(config::ModelKind::mlp, {500, 500}), mnist) == 648010);
  CHECK(parameters_of(model_of(config::ModelKind::mlp, {2048, 2048}), mnist) == 5824522);
  CHECK(parameters_of(model_of(config::ModelKind::resnet18), cifar) == 11173962);
  CHECK(make_network(model_of(config::ModelKind::resnet18), cifar, 10)->statistic_count() == 9600);
}

TEST_CASE("the parameters' shapes add up to the parameter count") {
  const auto network = make_network(model_of(config::ModelKind::resnet18), shape, classes);
  std::size_t total = 0;
  for (const Parameter& parameter : network->parameters()) {
    total += static_cast<std::size_t>(
        std::accumulate(parameter.shape.begin(), parameter.shape.end(), std::int64_t{1}, std::multiplies<>()));
  }
  CHECK(total == network->parameter_count());
}

TEST_CASE("initial parameters are uniform within 1 / sqrt(inputs), as PyTorch's") {
  const Fixture fixture(model_of(config::ModelKind::softmax));
  const float bound = 1 / std::sqrt(static_cast<float>(shape.size()));
  const auto [least, largest] = std::minmax_element(fixture.parameters.begin(), fixture.parameters.end());
  CHECK(*least >= -bound);
  CHECK(*least < -0.95F * bound);
  CHECK(*largest <= bound);
  CHECK(*largest > 0.95F * bound);
}

TEST_CASE("resnet18 refuses images that its strides reduce to nothing") {
  constexpr ImageShape tiny{.channels = 1, .height = 7, .width = 20};
  CHECK_THROWS_WITH(make_network(model_of(config::ModelKind::resnet18), tiny, 10),
                    Catch::Contains("resnet18") && Catch::Contains("7x20"));
}

}  // namespace
}  // namespace tandem::models
