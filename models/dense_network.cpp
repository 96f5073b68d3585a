#include "models/dense_network.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/threshold_backward.h>
#include <c10/core/InferenceMode.h>

#include <cassert>
#include <string>

#include "models/initialization.h"

namespace tandem::models {
namespace {

/// One fully connected layer: output = input * weight^T + bias.
struct Layer {
  Layer(std::int64_t input_count, std::int64_t output_count) : inputs(input_count), outputs(output_count) {}

  std::int64_t inputs;
  std::int64_t outputs;

  // Views of the parameters in use.
  at::Tensor weight;
  at::Tensor transposed_weight;
  at::Tensor bias;

  // [samples, outputs], the first rows of the buffers behind them: after ReLU, and the loss's derivative before ReLU.
  at::Tensor output;
  at::Tensor output_gradient;
  at::Tensor output_buffer;
  at::Tensor output_gradient_buffer;

  std::size_t weight_size() const { return static_cast<std::size_t>(inputs * outputs); }
  std::size_t size() const { return weight_size() + static_cast<std::size_t>(outputs); }
};

struct LayerViews {
  at::Tensor weight;
  at::Tensor bias;
};

/// The layer's part, which begins at `values`, of a flat vector.
LayerViews view(float* values, const Layer& layer) {
  return {.weight = at::from_blob(values, {layer.outputs, layer.inputs}),
          .bias = at::from_blob(values + layer.weight_size(), {layer.outputs})};
}

/// The first `rows` rows of `buffer`, which grows if it has fewer.
at::Tensor first_rows(at::Tensor& buffer, std::int64_t rows, std::int64_t columns) {
  if (!buffer.defined() || buffer.size(0) < rows) buffer = at::empty({rows, columns});
  return buffer.narrow(0, 0, rows);
}

class DenseNetwork final : public Network {
 public:
  explicit DenseNetwork(const std::vector<std::int64_t>& sizes) {
    assert(sizes.size() >= 2);
    for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
      layers_.emplace_back(sizes[i], sizes[i + 1]);
      const std::string name = "linear" + std::to_string(i + 1);
      parameters_.push_back({.name = name + ".weight", .shape = {sizes[i + 1], sizes[i]}});
      parameters_.push_back({.name = name + ".bias", .shape = {sizes[i + 1]}});
      parameter_count_ += layers_.back().size();
    }
  }

  const std::vector<Parameter>& parameters() const override { return parameters_; }
  std::size_t parameter_count() const override { return parameter_count_; }
  std::size_t statistic_count() const override { return 0; }

  void initialize(std::uint64_t seed, std::span<float> parameters, std::span<float> /*statistics*/) override {
    Initializer initializer(seed);
    float* values = parameters.data();
    for (const Layer& layer : layers_) {
      const LayerViews views = view(values, layer);
      initializer.initialize_affine(views.weight, views.bias);
      values += layer.size();
    }
  }

  std::span<float> forward(const Weights& weights, const Images& images, Mode /*mode*/) override {
    const c10::InferenceMode no_autograd;
    use_parameters(weights.parameters);
    use_samples(images.samples);
    input_ = at::from_blob(const_cast<float*>(images.values.data()), {images.samples, layers_.front().inputs});
    const at::Tensor* input = &input_;
    for (Layer& layer : layers_) {
      at::addmm_out(layer.output, layer.bias, *input, layer.transposed_weight);
      if (&layer != &layers_.back()) layer.output.relu_();
      input = &layer.output;
    }
    return {input->data_ptr<float>(), static_cast<std::size_t>(input->numel())};
  }

  void backward(std::span<float> logit_gradient, std::span<float> gradient) override {
    const c10::InferenceMode no_autograd;
    layers_.back().output_gradient = at::from_blob(logit_gradient.data(), {samples_, layers_.back().outputs});
    float* end = gradient.data() + parameter_count_;
    for (std::size_t i = layers_.size(); i-- > 0;) {
      const Layer& layer = layers_[i];
      end -= layer.size();
      LayerViews gradients = view(end, layer);
      at::mm_out(gradients.weight, layer.output_gradient.t(), i > 0 ? layers_[i - 1].output : input_);
      at::sum_out(gradients.bias, layer.output_gradient, {0});
      if (i > 0) propagate(layer, layers_[i - 1]);
    }
  }

 private:
  /// From a layer's output gradient to that of the layer below it, through the ReLU between them.
  static void propagate(const Layer& layer, Layer& below) {
    at::mm_out(below.output_gradient, layer.output_gradient, layer.weight);
    at::threshold_backward_out(below.output_gradient, below.output_gradient, below.output, 0);
  }

  void use_parameters(std::span<const float> parameters) {
    if (parameters.data() == viewed_parameters_) return;
    viewed_parameters_ = parameters.data();
    // Only read, but tensors know no const.
    float* values = const_cast<float*>(parameters.data());
    for (Layer& layer : layers_) {
      const LayerViews views = view(values, layer);
      layer.weight = views.weight;
      layer.transposed_weight = views.weight.t();
      layer.bias = views.bias;
      values += layer.size();
    }
  }

  void use_samples(std::int64_t samples) {
    if (samples == samples_) return;
    samples_ = samples;
    for (Layer& layer : layers_) {
      layer.output = first_rows(layer.output_buffer, samples, layer.outputs);
      if (&layer == &layers_.back()) continue;
      layer.output_gradient = first_rows(layer.output_gradient_buffer, samples, layer.outputs);
    }
  }

  std::vector<Parameter> parameters_;
  std::size_t parameter_count_ = 0;
  std::vector<Layer> layers_;
  const float* viewed_parameters_ = nullptr;
  std::int64_t samples_ = 0;
  at::Tensor input_;
};

}  // namespace

std::unique_ptr<Network> make_dense_network(const std::vector<std::int64_t>& sizes) {
  return std::make_unique<DenseNetwork>(sizes);
}

}  // namespace tandem::models
