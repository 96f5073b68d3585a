#pragma once

#include <string>
#include <vector>

#include "config/job.h"

namespace tandem::scheduler {

/// The largest lr * curvature at which gradient descent with momentum is stable on a quadratic when gradients arrive
/// width - 1 steps late: the recurrence
///     v' = momentum * v + curvature * w[t - width + 1],  w' = w - lr * v'
/// (with Correction::momentum the gradient is taken at the weights moved on by the momentum, once for each step in
/// flight; Correction::local on equal data is as stable as width 1).
double stability_limit(int width, double momentum, config::Correction correction);

/// What a user should know before such a job starts: that its staleness makes a learning rate diverge that is stable
/// without (uncorrected momentum at a width above 1), or that nothing bounds it.
std::vector<std::string> staleness_warnings(const config::Job& job);

}  // namespace tandem::scheduler
