#pragma once

#include <torch/nn/module.h>

#include <memory>

#include "models/dataset.h"
#include "models/network.h"

namespace tandem::models {

/// A torch::nn::Module that makes logits [samples, classes] from images [samples, channels, height, width].
class ImageModule : public torch::nn::Module {
 public:
  virtual at::Tensor forward(const at::Tensor& images) = 0;
};

/// Runs any module as a network, with autograd. Its floating-point buffers are the running statistics. It may consist
/// of Linear, Conv2d and BatchNorm2d, and modules without parameters; initialize() knows these.
std::unique_ptr<Network> make_module_network(std::shared_ptr<ImageModule> module, const ImageShape& shape);

}  // namespace tandem::models
