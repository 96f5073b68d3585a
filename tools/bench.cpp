#include "tools/bench.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace tandem::tools {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const double number = std::ceil(share * static_cast<double>(values.size()));
  return values[static_cast<std::size_t>(std::max(number, 1.0)) - 1];
}

std::vector<float> benchmark_values(std::size_t count, unsigned seed) {
  std::minstd_rand random(seed + 1);
  std::uniform_real_distribution<float> between(-1, 1);
  std::vector<float> values(count);
  for (float& value : values) value = between(random);
  return values;
}

void add_bench(CLI::App& app, Action& chosen) {
  auto* bench = app.add_subcommand("bench", "measure; figures are lines of JSON");
  bench->require_subcommand(1);
  add_bench_step(*bench, chosen);
  add_bench_allreduce(*bench, chosen);
  add_bench_codec(*bench, chosen);
}

}  // namespace tandem::tools
