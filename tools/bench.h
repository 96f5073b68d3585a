#pragma once

#include <CLI/CLI.hpp>

#include <vector>

#include "tools/commands.h"

// The commands below `tandem bench`, one file each. They print figures as lines of JSON, whose keys docs/results.md
// lists.
namespace tandem::tools {

void add_bench_step(CLI::App& bench, Action& chosen);
void add_bench_allreduce(CLI::App& bench, Action& chosen);
void add_bench_codec(CLI::App& bench, Action& chosen);

/// Of at least one value; of an even number of them the mean of the middle two.
double median(std::vector<double> values);

/// The smallest of the values that at least `share` of them do not exceed.
double quantile(std::vector<double> values, double share);

/// `count` values between -1 and 1 that depend on both arguments.
std::vector<float> benchmark_values(std::size_t count, unsigned seed);

}  // namespace tandem::tools
