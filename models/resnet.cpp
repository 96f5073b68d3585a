#include "models/resnet.h"

#include <torch/torch.h>

#include <string>
#include <vector>

#include "models/module_network.h"

namespace tandem::models {
namespace {

torch::nn::Conv2d convolution(std::int64_t inputs, std::int64_t outputs, std::int64_t kernel, std::int64_t stride) {
  return torch::nn::Conv2d(
      torch::nn::Conv2dOptions(inputs, outputs, kernel).stride(stride).padding(kernel / 2).bias(false));
}

/// Two 3x3 convolutions beside a shortcut, which is a 1x1 convolution where the shape changes.
class BasicBlock final : public ImageModule {
 public:
  BasicBlock(std::int64_t inputs, std::int64_t outputs)
      : changes_shape_(inputs != outputs),
        conv1_(register_module("conv1", convolution(inputs, outputs, 3, changes_shape_ ? 2 : 1))),
        norm1_(register_module("norm1", torch::nn::BatchNorm2d(outputs))),
        conv2_(register_module("conv2", convolution(outputs, outputs, 3, 1))),
        norm2_(register_module("norm2", torch::nn::BatchNorm2d(outputs))) {
    if (!changes_shape_) return;
    shortcut_conv_ = register_module("shortcut_conv", convolution(inputs, outputs, 1, 2));
    shortcut_norm_ = register_module("shortcut_norm", torch::nn::BatchNorm2d(outputs));
  }

  at::Tensor forward(const at::Tensor& images) override {
    const at::Tensor hidden = norm1_(conv1_(images)).relu_();
    const at::Tensor shortcut = changes_shape_ ? shortcut_norm_(shortcut_conv_(images)) : images;
    return norm2_(conv2_(hidden)).add_(shortcut).relu_();
  }

 private:
  bool changes_shape_;
  torch::nn::Conv2d conv1_;
  torch::nn::BatchNorm2d norm1_;
  torch::nn::Conv2d conv2_;
  torch::nn::BatchNorm2d norm2_;
  torch::nn::Conv2d shortcut_conv_ = nullptr;
  torch::nn::BatchNorm2d shortcut_norm_ = nullptr;
};

class ResNet18 final : public ImageModule {
 public:
  ResNet18(std::int64_t channels, std::int64_t classes)
      : stem_(register_module("stem", convolution(channels, 64, 3, 1))),
        norm_(register_module("norm", torch::nn::BatchNorm2d(64))) {
    std::int64_t inputs = 64;
    for (const std::int64_t outputs : {64, 64, 128, 128, 256, 256, 512, 512}) {
      blocks_.push_back(
          register_module("block" + std::to_string(blocks_.size() + 1), std::make_shared<BasicBlock>(inputs, outputs)));
      inputs = outputs;
    }
    classifier_ = register_module("classifier", torch::nn::Linear(inputs, classes));
  }

  at::Tensor forward(const at::Tensor& images) override {
    at::Tensor features = norm_(stem_(images)).relu_();
    for (const auto& block : blocks_) features = block->forward(features);
    return classifier_(features.mean({2, 3}));
  }

 private:
  torch::nn::Conv2d stem_;
  torch::nn::BatchNorm2d norm_;
  std::vector<std::shared_ptr<BasicBlock>> blocks_;
  torch::nn::Linear classifier_ = nullptr;
};

}  // namespace

std::unique_ptr<Network> make_resnet18(const ImageShape& shape, std::int64_t classes) {
  return make_module_network(std::make_shared<ResNet18>(shape.channels, classes), shape);
}

}  // namespace tandem::models
