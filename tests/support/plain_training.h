#pragma once

#include <vector>

#include "config/job.h"
#include "support/quadratic_replica.h"

namespace tandem::test {

/// Trains the quadratic as the words of the method say it, in one thread and with plain loops: the gradients of every
/// rank at its (corrected) weights, their mean over all samples, delayed by width - 1 steps. Returns the weights after
/// each update. Knows nothing of actors, windows, communicators and fused kernels.
std::vector<std::vector<float>> plain_training(const config::Job& job, const Quadratic& problem, std::int64_t steps);

/// The same for gradients that are applied one by one, by workers that take turns: each computes at the weights that it
/// was given after its last gradient was applied. With corrections momentum, local and dc. Returns the last weights.
std::vector<float> plain_asynchronous_training(const config::Job& job, const Quadratic& problem, std::int64_t steps);

}  // namespace tandem::test
