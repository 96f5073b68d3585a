#include "models/module_network.h"

#include <torch/torch.h>

#include <utility>
#include <vector>

#include "models/initialization.h"

namespace tandem::models {
namespace {

std::size_t total_size(const std::vector<at::Tensor>& tensors) {
  std::size_t total = 0;
  for (const at::Tensor& tensor : tensors) total += static_cast<std::size_t>(tensor.numel());
  return total;
}

/// Calls `visit(tensor, view)` with each tensor and the view of its shape of the flat vector that begins at `values`.
template <class Visit>
void for_each_view(const std::vector<at::Tensor>& tensors, float* values, Visit visit) {
  for (const at::Tensor& tensor : tensors) {
    visit(tensor, at::from_blob(values, tensor.sizes()));
    values += tensor.numel();
  }
}

/// Makes the tensors lie in the flat vector.
void place(const std::vector<at::Tensor>& tensors, float* values) {
  for_each_view(tensors, values, [](const at::Tensor& tensor, const at::Tensor& view) { tensor.set_data(view); });
}

class ModuleNetwork final : public Network {
 public:
  ModuleNetwork(std::shared_ptr<ImageModule> module, const ImageShape& shape)
      : module_(std::move(module)), shape_(shape) {
    for (const auto& named : module_->named_parameters()) {
      parameters_.push_back({.name = named.key(), .shape = named.value().sizes().vec()});
      parameter_tensors_.push_back(named.value());
    }
    for (const at::Tensor& buffer : module_->buffers()) {
      if (buffer.is_floating_point()) statistic_tensors_.push_back(buffer);
    }
    parameter_count_ = total_size(parameter_tensors_);
    statistic_count_ = total_size(statistic_tensors_);
  }

  const std::vector<Parameter>& parameters() const override { return parameters_; }
  std::size_t parameter_count() const override { return parameter_count_; }
  std::size_t statistic_count() const override { return statistic_count_; }

  void initialize(std::uint64_t seed, std::span<float> parameters, std::span<float> statistics) override {
    place(parameter_tensors_, parameters.data());
    place(statistic_tensors_, statistics.data());
    Initializer initializer(seed);
    for (const auto& module : module_->modules()) {
      if (const auto* linear = module->as<torch::nn::Linear>()) {
        initializer.initialize_affine(linear->weight, linear->bias);
      } else if (const auto* convolution = module->as<torch::nn::Conv2d>()) {
        initializer.initialize_affine(convolution->weight, convolution->bias);
      } else if (auto* normalization = module->as<torch::nn::BatchNorm2d>()) {
        normalization->reset_parameters();
      }
    }
  }

  std::span<float> forward(const Weights& weights, const Images& images, Mode mode) override {
    const at::AutoGradMode records_graph(mode == Mode::train);
    module_->train(mode == Mode::train);
    // The parameters are only read, but tensors know no const; nor does from_blob.
    place(parameter_tensors_, const_cast<float*>(weights.parameters.data()));
    place(statistic_tensors_, weights.statistics.data());
    const at::Tensor input = at::from_blob(const_cast<float*>(images.values.data()),
                                           {images.samples, shape_.channels, shape_.height, shape_.width});
    logits_ = module_->forward(input);
    // A copy: the graph may need the values that the caller overwrites.
    returned_logits_ = logits_.detach().clone(at::MemoryFormat::Contiguous);
    return {returned_logits_.data_ptr<float>(), static_cast<std::size_t>(returned_logits_.numel())};
  }

  void backward(std::span<float> logit_gradient, std::span<float> gradient) override {
    const at::Tensor logits = std::exchange(logits_, {});
    const std::vector<at::Tensor> gradients =
        torch::autograd::grad({logits}, parameter_tensors_, {at::from_blob(logit_gradient.data(), logits.sizes())});
    for_each_view(gradients, gradient.data(),
                  [](const at::Tensor& computed, const at::Tensor& view) { view.copy_(computed); });
  }

 private:
  std::shared_ptr<ImageModule> module_;
  ImageShape shape_;
  std::vector<Parameter> parameters_;
  std::vector<at::Tensor> parameter_tensors_;
  std::vector<at::Tensor> statistic_tensors_;
  std::size_t parameter_count_ = 0;
  std::size_t statistic_count_ = 0;
  /// Of the last forward() in Mode::train, with the graph behind it.
  at::Tensor logits_;
  at::Tensor returned_logits_;
};

}  // namespace

std::unique_ptr<Network> make_module_network(std::shared_ptr<ImageModule> module, const ImageShape& shape) {
  return std::make_unique<ModuleNetwork>(std::move(module), shape);
}

}  // namespace tandem::models
