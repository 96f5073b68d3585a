#include "models/step_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstring>

// Vector types of the compiler's own, not loops left to its vectorizer: it does not keep such loops' arrays in
// registers from one step to the next. Vectors wider than the processor's, neither. Everything is inlined into the
// clones below.
#define TANDEM_INLINE __attribute__((always_inline)) inline

namespace tandem::models {
namespace {

using Floats = float __attribute__((vector_size(lanes * sizeof(float))));
using Ints = std::int32_t __attribute__((vector_size(lanes * sizeof(std::int32_t))));

/// The first `count` lanes; zero in the others.
TANDEM_INLINE Floats load(const float* values, std::size_t count) {
  Floats result{};
  std::memcpy(&result, values, count * sizeof(float));
  return result;
}

TANDEM_INLINE void store(float* values, Floats lanes_to_store, std::size_t count) {
  std::memcpy(values, &lanes_to_store, count * sizeof(float));
}

TANDEM_INLINE Floats square_root(Floats values) {
  for (std::size_t lane = 0; lane < lanes; ++lane) values[lane] = std::sqrt(values[lane]);
  return values;
}

/// Weights and moments of a few elements.
struct Elements {
  Floats weights;
  Floats first;
  Floats second;
};

template <Method method>
TANDEM_INLINE void take(const StepNumbers& n, Floats gradient, Elements& e) {
  const Floats g = n.gradient_scale * gradient + n.weight_decay * e.weights;
  if constexpr (method == Method::sgd) {
    e.weights -= n.rate * g;
    return;
  }
  e.first = n.beta1 * e.first + n.gradient_share * g;
  if constexpr (method == Method::momentum) e.weights -= n.rate * e.first;
  if constexpr (method == Method::nesterov) e.weights -= n.rate * (g + n.beta1 * e.first);
  if constexpr (method == Method::adam) {
    e.second = n.beta2 * e.second + n.square_share * g * g;
    const Floats deviation = square_root(e.second) / n.deviation_scale + n.epsilon;
    e.weights = n.weight_scale * e.weights - n.rate * e.first / deviation;
  }
}

TANDEM_INLINE void note_largest(PlannedStep& planned, Floats gradient) {
  Ints largest;
  Ints bits;
  std::memcpy(&largest, planned.largest_bits.data(), sizeof(largest));
  std::memcpy(&bits, &gradient, sizeof(bits));
  bits &= 0x7fffffff;
  largest = bits > largest ? bits : largest;
  std::memcpy(planned.largest_bits.data(), &largest, sizeof(largest));
}

/// The sweep at elements first, ..., first + count - 1.
template <Method method>
TANDEM_INLINE void run_at(const Sweep& sweep, std::size_t first, std::size_t count) {
  constexpr bool has_first = method != Method::sgd;
  constexpr bool has_second = method == Method::adam;
  Elements e{};
  e.weights = load(sweep.weights + first, count);
  if constexpr (has_first) e.first = load(sweep.first_moment + first, count);
  if constexpr (has_second) e.second = load(sweep.second_moment + first, count);

  for (const PlannedStep& planned : sweep.updates) {
    take<method>(planned.numbers, load(planned.gradient + first, count), e);
  }
  store(sweep.weights + first, e.weights, count);
  if constexpr (has_first) store(sweep.first_moment + first, e.first, count);
  if constexpr (has_second) store(sweep.second_moment + first, e.second, count);

  if (sweep.predicted == nullptr) return;
  for (PlannedStep& planned : sweep.prediction) {
    const Floats gradient = planned.gradient == nullptr ? Floats{} : load(planned.gradient + first, count);
    note_largest(planned, gradient);
    take<method>(planned.numbers, gradient, e);
  }
  store(sweep.predicted + first, e.weights, count);
}

template <Method method>
TANDEM_INLINE void run_all(const Sweep& sweep) {
  const Sweep local = sweep;  // what the sweep writes cannot alias it
  const std::size_t rest = local.count % lanes;
  for (std::size_t first = 0; first < local.count - rest; first += lanes) run_at<method>(local, first, lanes);
  if (rest != 0) run_at<method>(local, local.count - rest, rest);
}

TANDEM_SIMD_CLONES void run_sgd(const Sweep& sweep) { run_all<Method::sgd>(sweep); }
TANDEM_SIMD_CLONES void run_momentum(const Sweep& sweep) { run_all<Method::momentum>(sweep); }
TANDEM_SIMD_CLONES void run_nesterov(const Sweep& sweep) { run_all<Method::nesterov>(sweep); }
TANDEM_SIMD_CLONES void run_adam(const Sweep& sweep) { run_all<Method::adam>(sweep); }

}  // namespace

int moments(Method method) {
  if (method == Method::sgd) return 0;
  return method == Method::adam ? 2 : 1;
}

bool PlannedStep::finite() const {
  constexpr std::int32_t infinity = 0x7f800000;
  return std::ranges::max(largest_bits) < infinity;
}

void run(Method method, const Sweep& sweep) {
  switch (method) {
    case Method::sgd:
      return run_sgd(sweep);
    case Method::momentum:
      return run_momentum(sweep);
    case Method::nesterov:
      return run_nesterov(sweep);
    case Method::adam:
      return run_adam(sweep);
  }
}

TANDEM_SIMD_CLONES
double sum_of_squares(std::span<const float> values) {
  // Sums side by side: one alone would wait for each addition to end before the next.
  constexpr std::size_t parts = 16;
  std::array<double, parts> sums{};
  const std::size_t rest = values.size() % parts;
  for (std::size_t first = 0; first < values.size() - rest; first += parts) {
    for (std::size_t part = 0; part < parts; ++part) {
      const double value = values[first + part];
      sums[part] += value * value;
    }
  }
  for (std::size_t part = 0; part < rest; ++part) {
    const double value = values[values.size() - rest + part];
    sums[part] += value * value;
  }
  double total = 0;
  for (const double sum : sums) total += sum;
  return total;
}

}  // namespace tandem::models
