#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "models/network.h"

namespace tandem::models {

/// Fully connected layers with ReLU between them. `sizes`: the inputs, then the outputs of each layer; the last are the
/// classes. Parameters are named and laid out as those of PyTorch's Linear layers.
///
/// Its backward pass is written out instead of left to autograd: each gradient is computed right where it has to go,
/// all intermediate results live in memory that is kept, and none of autograd's bookkeeping is paid for. CPU time
/// against autograd with its gradients copied into place, four replicas at once on two cores: a sixth for 784-10 with
/// batch 1, 0.85 for 784-500-500-10 with batch 128, and about the same for 784-2048-2048-10, where matrix products are
/// all that counts. Pages are never faulted in again, as they are where temporaries come and go.
std::unique_ptr<Network> make_dense_network(const std::vector<std::int64_t>& sizes);

}  // namespace tandem::models
