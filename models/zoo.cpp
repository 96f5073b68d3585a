#include "models/zoo.h"

#include <algorithm>
#include <cassert>
#include <stdexcept>
#include <string>

#include "models/dense_network.h"
#include "models/resnet.h"

namespace tandem::models {
namespace {

// Its three strides of 2 leave one pixel of this many.
constexpr std::int64_t resnet18_smallest_side = 8;

std::unique_ptr<Network> make_mlp(std::vector<std::int64_t> hidden, const ImageShape& shape, std::int64_t classes) {
  hidden.insert(hidden.begin(), static_cast<std::int64_t>(shape.size()));
  hidden.push_back(classes);
  return make_dense_network(hidden);
}

}  // namespace

std::unique_ptr<Network> make_network(const config::Model& model, const ImageShape& shape, std::int64_t classes) {
  switch (model.kind) {
    case config::ModelKind::softmax:
      return make_mlp({}, shape, classes);
    case config::ModelKind::mlp:
      return make_mlp(model.hidden, shape, classes);
    case config::ModelKind::resnet18:
      if (std::min(shape.height, shape.width) < resnet18_smallest_side) {
        const std::string side = std::to_string(resnet18_smallest_side);
        throw std::runtime_error("model " + std::string(name(model.kind)) + " takes images of at least " + side + "x" +
                                 side + " pixels, but these are of " + text(shape));
      }
      return make_resnet18(shape, classes);
  }
  assert(false);
  return nullptr;
}

std::int64_t smallest_batch(const config::Model& model, const ImageShape& shape) {
  // Batch normalization needs two values a channel; here the last ones have a single pixel of each sample.
  const bool single_pixel = std::max(shape.height, shape.width) <= resnet18_smallest_side;
  return model.kind == config::ModelKind::resnet18 && single_pixel ? 2 : 1;
}

}  // namespace tandem::models
