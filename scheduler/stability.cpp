#include "scheduler/stability.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <optional>

namespace tandem::scheduler {
namespace {

using config::Correction;

// Where the gradient of the next step is taken, with `staleness` updates in flight.
double gradient_point(double w, double v, double rate, double momentum, int staleness, Correction correction) {
  if (correction != Correction::momentum) return w;
  for (int i = 0; i < staleness; ++i) {
    v *= momentum;
    w -= rate * v;
  }
  return w;
}

// Whether the recurrence shrinks, by running it: its growth over the second half tells, the first forgets the start.
bool is_stable(double rate, int width, double momentum, Correction correction) {
  constexpr int steps = 6000;
  const int staleness = correction == Correction::local ? 0 : width - 1;
  double w = 1;
  double v = 0;
  double first_half = 0;
  double second_half = 0;
  std::deque<double> late(static_cast<std::size_t>(staleness), 0.0);
  for (int t = 0; t < steps; ++t) {
    late.push_back(gradient_point(w, v, rate, momentum, staleness, correction));
    v = momentum * v + late.front();
    late.pop_front();
    w -= rate * v;
    if (!std::isfinite(w) || std::abs(w) > 1e12) return false;
    double& peak = t < steps / 2 ? first_half : second_half;
    peak = std::max(peak, std::abs(w));
  }
  return second_half <= first_half;
}

}  // namespace

double stability_limit(int width, double momentum, Correction correction) {
  double stable = 0;
  double unstable = 2 * (1 + momentum) + 1;
  for (int i = 0; i < 30; ++i) {
    const double middle = (stable + unstable) / 2;
    (is_stable(middle, width, momentum, correction) ? stable : unstable) = middle;
  }
  return stable;
}

namespace {

std::optional<std::string> warning_of_momentum(const config::Job& job) {
  const bool sgd = job.optimizer.kind == config::OptimizerKind::sgd;
  const double momentum = sgd ? job.optimizer.momentum : job.optimizer.beta1;
  const int width = job.topology.width;
  if (width == 1 || job.topology.correction != Correction::none || momentum == 0) return std::nullopt;
  std::string limit;
  if (sgd && is_synchronous(job.topology)) {
    const double share =
        stability_limit(width, momentum, Correction::none) / stability_limit(1, momentum, Correction::none);
    limit = fmt::format(" (on a quadratic, above {:.2g} of the largest rate that is stable at width 1)", share);
  }
  const bool at_server = job.topology.kind == config::TopologyKind::ps_sync;
  return fmt::format(
      "width {} with {} {} and no correction: a learning rate that trains well at width 1 may diverge{}; set "
      "topology.correction = \"{}\", or lower optimizer.lr",
      width, sgd ? "momentum" : "beta1", momentum, limit, name(at_server ? Correction::momentum : Correction::local));
}

}  // namespace

std::vector<std::string> staleness_warnings(const config::Job& job) {
  std::vector<std::string> warnings;
  if (const auto warning = warning_of_momentum(job)) warnings.push_back(*warning);
  if (job.topology.kind == config::TopologyKind::ps_async && !job.topology.staleness) {
    warnings.push_back(
        "topology.staleness is unset: a worker may run any number of steps ahead of the slowest, and its gradients "
        "may be computed at weights that are as old");
  }
  return warnings;
}

}  // namespace tandem::scheduler
