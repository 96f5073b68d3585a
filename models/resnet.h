#pragma once

#include <cstdint>
#include <memory>

#include "models/dataset.h"
#include "models/network.h"

namespace tandem::models {

/// ResNet-18 (He et al., CVPR 2016) for small images, as is usual on CIFAR: the stem is a 3x3 convolution of stride 1
/// without pooling. `shape`: at least 8x8 pixels.
std::unique_ptr<Network> make_resnet18(const ImageShape& shape, std::int64_t classes);

}  // namespace tandem::models
