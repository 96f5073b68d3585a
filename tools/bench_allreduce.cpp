#include <fmt/format.h>

#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <exception>
#include <nlohmann/json.hpp>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "comm/in_process.h"
#include "comm/message_mean.h"
#include "tools/bench.h"

namespace tandem::tools {
namespace {

using comm::Communicator;
using config::Algorithm;
using config::Codec;
using nlohmann::ordered_json;
using Group = std::vector<std::unique_ptr<Communicator>>;

constexpr int warm_up_rounds = 2;

struct BenchAllreduceArguments {
  std::vector<int> ranks = {4};
  std::vector<std::size_t> sizes = {1024, 65536, 1048576, 8388608};
  std::vector<std::string> algorithms = {"native", "direct", "ring"};
  std::vector<std::string> codecs = {"none", "bf16", "int8"};
  int rounds = 20;
  std::size_t segment = comm::MessageMeanOptions().segment_values;
};

struct Combination {
  int ranks;
  std::size_t size;
  Algorithm algorithm;
  Codec codec;
};

/// One vector a rank, and the mean of all in float64.
struct Problem {
  std::vector<std::vector<float>> contributions;
  std::vector<double> exact;
};

/// What one rank saw of one round.
struct Seen {
  double seconds = 0;
  double encoding = 0;
  double decoding = 0;
  double error = 0;
  std::uint64_t digest = 0;
};

template <typename Value>
Value named(const std::string& wanted) {
  int number = 0;
  while (name(static_cast<Value>(number)) != wanted) ++number;  // one of the names, as was checked
  return static_cast<Value>(number);
}

template <typename Value>
std::vector<std::string> names() {
  std::vector<std::string> all;
  while (const char* next = name(static_cast<Value>(all.size()))) all.push_back(next);
  return all;
}

Problem make_problem(const Combination& combination) {
  Problem problem;
  problem.exact.assign(combination.size, 0.0);
  for (int rank = 0; rank < combination.ranks; ++rank) {
    problem.contributions.push_back(benchmark_values(combination.size, static_cast<unsigned>(rank)));
    const std::vector<float>& values = problem.contributions.back();
    for (std::size_t i = 0; i < values.size(); ++i) problem.exact[i] += values[i];
  }
  for (double& value : problem.exact) value /= combination.ranks;
  return problem;
}

Group make_group(const Combination& combination, std::size_t segment) {
  Group group = comm::make_in_process_group({.size = combination.ranks});
  if (combination.algorithm == Algorithm::native) return group;
  for (auto& end : group) {
    end = with_message_mean(
        std::move(end), {.algorithm = combination.algorithm, .codec = combination.codec, .segment_values = segment});
  }
  return group;
}

/// The larger of two errors; NaN is larger than any.
double worse(double a, double b) { return b > a || std::isnan(b) ? b : a; }

void verify(std::span<const float> mean, const std::vector<double>& exact, Seen& seen) {
  for (std::size_t i = 0; i < mean.size(); ++i) {
    seen.error = worse(seen.error, std::abs(mean[i] - exact[i]));
    seen.digest = seen.digest * 0x100000001b3 + std::bit_cast<std::uint32_t>(mean[i]);
  }
}

std::vector<Seen> take_part(Communicator& end, const Problem& problem, int rounds) {
  const std::vector<float>& values = problem.contributions[static_cast<std::size_t>(end.rank())];
  std::vector<Seen> all;
  for (int round = 0; round < warm_up_rounds + rounds; ++round) {
    end.barrier();
    const auto begin = std::chrono::steady_clock::now();
    const comm::Mean mean = end.all_reduce_mean({round, values, 1.0});
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
    Seen seen = {.seconds = elapsed.count(),
                 .encoding = std::chrono::duration<double>(mean.encoding).count(),
                 .decoding = std::chrono::duration<double>(mean.decoding).count()};
    verify(mean.values, problem.exact, seen);
    if (round >= warm_up_rounds) all.push_back(seen);
  }
  return all;
}

/// By rank and round. A rank's error ends all.
std::vector<std::vector<Seen>> run_ranks(const Group& group, const Problem& problem, int rounds) {
  std::vector<std::vector<Seen>> seen(group.size());
  std::vector<std::exception_ptr> errors(group.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t rank = 0; rank < group.size(); ++rank) {
      threads.emplace_back([&, rank] {
        try {
          seen[rank] = take_part(*group[rank], problem, rounds);
        } catch (const std::exception& error) {
          errors[rank] = std::current_exception();
          group[rank]->abort(error.what());
        }
      });
    }
  }
  for (const auto& error : errors) {
    if (error) std::rethrow_exception(error);
  }
  return seen;
}

/// The largest of all ranks, for each round.
std::vector<double> slowest(const std::vector<std::vector<Seen>>& seen, double Seen::*what) {
  std::vector<double> largest(seen.front().size(), 0.0);
  for (const auto& of_rank : seen) {
    for (std::size_t round = 0; round < largest.size(); ++round) {
      largest[round] = worse(largest[round], of_rank[round].*what);
    }
  }
  return largest;
}

void require_same_bits(const std::vector<std::vector<Seen>>& seen) {
  for (std::size_t rank = 1; rank < seen.size(); ++rank) {
    for (std::size_t round = 0; round < seen[rank].size(); ++round) {
      if (seen[rank][round].digest == seen[0][round].digest) continue;
      throw std::runtime_error(fmt::format("ranks 0 and {} have different bits in round {}", rank, round));
    }
  }
}

void measure(const Combination& combination, const BenchAllreduceArguments& arguments) {
  const auto seen = run_ranks(make_group(combination, arguments.segment), make_problem(combination), arguments.rounds);
  require_same_bits(seen);
  const std::vector<double> seconds = slowest(seen, &Seen::seconds);
  const std::vector<double> errors = slowest(seen, &Seen::error);
  const double error = std::accumulate(errors.begin(), errors.end(), 0.0, worse);
  const double allowed = comm::mean_error_bound(combination.algorithm, combination.codec, combination.ranks);
  const bool native = combination.algorithm == Algorithm::native;
  const ordered_json json = {
      {"algorithm", name(combination.algorithm)},
      {"codec", name(combination.codec)},
      {"ranks", combination.ranks},
      {"values", combination.size},
      {"segment_values", native ? ordered_json(nullptr) : ordered_json(arguments.segment)},
      {"rounds", arguments.rounds},
      {"seconds_min", quantile(seconds, 0)},
      {"seconds_median", median(seconds)},
      {"seconds_p99", quantile(seconds, 0.99)},
      {"gigabytes_per_second", static_cast<double>(combination.size * sizeof(float)) / 1e9 / median(seconds)},
      {"encoding_seconds", median(slowest(seen, &Seen::encoding))},
      {"decoding_seconds", median(slowest(seen, &Seen::decoding))},
      {"error", error},
      {"error_allowed", allowed},
  };
  fmt::print("{}\n", json.dump());
  if (error <= allowed) return;
  throw std::runtime_error(fmt::format("{} with codec {}: a mean of {} values is off by {}, {} is allowed",
                                       name(combination.algorithm), name(combination.codec), combination.size, error,
                                       allowed));
}

std::vector<Combination> combinations(const BenchAllreduceArguments& arguments) {
  std::vector<Combination> all;
  for (const int ranks : arguments.ranks) {
    for (const std::size_t size : arguments.sizes) {
      for (const std::string& algorithm : arguments.algorithms) {
        for (const std::string& codec : arguments.codecs) {
          const Combination combination = {ranks, size, named<Algorithm>(algorithm), named<Codec>(codec)};
          if (combination.algorithm == Algorithm::native && combination.codec != Codec::none) continue;
          all.push_back(combination);
        }
      }
    }
  }
  return all;
}

int bench_allreduce(const BenchAllreduceArguments& arguments) {
  const std::vector<Combination> all = combinations(arguments);
  if (all.empty()) {
    fmt::print(stderr, "error: the native algorithm has no codecs: there is nothing to measure\n");
    return exit_usage;
  }
  for (const Combination& combination : all) measure(combination, arguments);
  return exit_done;
}

}  // namespace

void add_bench_allreduce(CLI::App& bench, Action& chosen) {
  auto* command = bench.add_subcommand(
      "allreduce", "how long a mean of vectors takes between threads, each result compared with a float64 sum");
  auto arguments = std::make_shared<BenchAllreduceArguments>();
  const auto list = [&](const char* option, auto& values, const char* help) {
    return command->add_option(option, values, help)->delimiter(',')->capture_default_str();
  };
  list("--ranks", arguments->ranks, "threads that take part")->check(CLI::Range(1, 64));
  list("--sizes", arguments->sizes, "lengths of the vectors, in values")->check(CLI::Range(0, 1 << 30));
  list("--algorithms", arguments->algorithms, "native, direct, ring")->check(CLI::IsMember(names<Algorithm>()));
  list("--codecs", arguments->codecs, "none, bf16, int8; native has none")->check(CLI::IsMember(names<Codec>()));
  command->add_option("--rounds", arguments->rounds, "measurements of each combination")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command->add_option("--segment", arguments->segment, "most values in a message of direct and ring")
      ->check(CLI::Range(1, 1 << 30))
      ->capture_default_str();
  command->callback([arguments, &chosen] { chosen = [arguments] { return bench_allreduce(*arguments); }; });
}

}  // namespace tandem::tools
