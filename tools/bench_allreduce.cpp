#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <stdexcept>

#include "comm/codec.h"
#include "comm/file_store.h"
#include "comm/gloo.h"
#include "comm/gloo_ring.h"
#include "comm/in_process.h"
#include "comm/interface.h"
#include "comm/message_mean.h"
#include "tools/allreduce_rounds.h"
#include "tools/bench.h"

namespace tandem::tools {
namespace {

using comm::Communicator;
using config::Algorithm;
using config::Codec;
using nlohmann::ordered_json;
using Group = std::vector<std::unique_ptr<Communicator>>;

/// Gloo's own AllReduce, which no job can have.
constexpr const char* gloo_ring = "gloo-ring";

struct BenchAllreduceArguments {
  std::vector<int> ranks = {4};
  std::vector<std::size_t> sizes = {1024, 65536, 1048576, 8388608};
  std::vector<std::string> algorithms;
  std::vector<std::string> codecs = {"none", "bf16", "int8"};
  int rounds = 20;
  std::size_t segment = comm::MessageMeanOptions().segment_values;
  // Between processes.
  std::optional<int> rank;
  std::string folder;
  std::string interface;
  std::string towards;
  std::optional<double> gigabits_per_second;

  bool between_processes() const { return rank.has_value(); }
};

struct Combination {
  int ranks;
  std::size_t size;
  std::string algorithm;
  Codec codec;

  bool has_codecs() const { return algorithm == name(Algorithm::direct) || algorithm == name(Algorithm::ring); }
  std::string text() const { return fmt::format("{}-{}-{}", algorithm, name(codec), size); }
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

std::unique_ptr<Communicator> with_mean(std::unique_ptr<Communicator> end, const Combination& combination,
                                        std::size_t segment) {
  if (!combination.has_codecs()) return end;
  return with_message_mean(
      std::move(end),
      {.algorithm = named<Algorithm>(combination.algorithm), .codec = combination.codec, .segment_values = segment});
}

MeanRounds run_in_process(const Combination& combination, const BenchAllreduceArguments& arguments) {
  Group group = comm::make_in_process_group({.size = combination.ranks});
  for (auto& end : group) end = with_mean(std::move(end), combination, arguments.segment);
  return run_threads(group, MeanProblem(combination.ranks, combination.size), arguments.rounds);
}

/// This process's rank of a group of processes. Empty but for rank 0.
MeanRounds run_between_processes(const Combination& combination, const BenchAllreduceArguments& arguments) {
  const MeanProblem problem(combination.ranks, combination.size);
  comm::FileStore store(arguments.folder);
  comm::GlooOptions options = {.rank = *arguments.rank,
                               .size = combination.ranks,
                               .address = arguments.interface.empty() ? comm::local_address_towards(arguments.towards)
                                                                      : comm::address_of_interface(arguments.interface),
                               .key_prefix = combination.text()};
  const auto end = with_mean(make_gloo_communicator(store, options), combination, arguments.segment);
  MeasuredCall call = [&](const comm::Contribution& contribution) {
    return MeasuredMean{end->all_reduce_mean(contribution)};
  };
  std::optional<comm::GlooRing> ring;
  if (combination.algorithm == gloo_ring) {
    options.key_prefix += "-gloo";
    ring.emplace(store, options);
    call = [&](const comm::Contribution& contribution) {
      MeasuredMean sum = {.mean = {}, .divisor = static_cast<double>(combination.ranks)};
      sum.mean.values = ring->sum(contribution.values);
      return sum;
    };
  }
  return gather_rounds(*end, take_part(*end, problem, arguments.rounds, call));
}

/// What it takes to bring the bytes of a mean over one rank's link, which carries them both ways at once.
double wire_seconds(const Combination& combination, double gigabits_per_second) {
  const double share = 2.0 * (combination.ranks - 1) / combination.ranks;
  return share * 8 * static_cast<double>(comm::encoded_size(combination.codec, combination.size)) /
         gigabits_per_second / 1e9;
}

double largest(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0, worse); }

double error_allowed(const Combination& combination) {
  const Algorithm algorithm = combination.has_codecs() ? named<Algorithm>(combination.algorithm) : Algorithm::native;
  return comm::mean_error_bound(algorithm, combination.codec, combination.ranks);
}

ordered_json figures(const Combination& combination, const BenchAllreduceArguments& arguments, const MeanRounds& seen) {
  const std::vector<double> seconds = slowest(seen, &MeanRound::seconds);
  ordered_json json = {
      {"algorithm", combination.algorithm},
      {"codec", name(combination.codec)},
      {"ranks", combination.ranks},
      {"values", combination.size},
      {"segment_values", combination.has_codecs() ? ordered_json(arguments.segment) : ordered_json(nullptr)},
      {"rounds", arguments.rounds},
      {"seconds_min", quantile(seconds, 0)},
      {"seconds_median", median(seconds)},
      {"seconds_p99", quantile(seconds, 0.99)},
      {"gigabytes_per_second", static_cast<double>(combination.size * sizeof(float)) / 1e9 / median(seconds)},
      {"encoding_seconds", median(slowest(seen, &MeanRound::encoding))},
      {"decoding_seconds", median(slowest(seen, &MeanRound::decoding))},
      {"error", largest(slowest(seen, &MeanRound::error))},
      {"error_allowed", error_allowed(combination)},
  };
  if (!arguments.between_processes()) return json;
  json["processor_seconds"] = median(slowest(seen, &MeanRound::processor));
  // Gloo does not say what it sends.
  json["bytes_sent"] =
      combination.algorithm == gloo_ring ? ordered_json(nullptr) : ordered_json(seen.front().back().bytes_sent);
  if (arguments.gigabits_per_second) {
    const double wire = wire_seconds(combination, *arguments.gigabits_per_second);
    json["wire_seconds"] = wire;
    json["ratio"] = median(seconds) / wire;
  }
  return json;
}

void measure(const Combination& combination, const BenchAllreduceArguments& arguments) {
  const MeanRounds seen = arguments.between_processes() ? run_between_processes(combination, arguments)
                                                        : run_in_process(combination, arguments);
  if (seen.empty()) return;
  require_same_bits(seen);
  const ordered_json json = figures(combination, arguments, seen);
  fmt::print("{}\n", json.dump());
  std::fflush(stdout);
  const auto error = json["error"].get<double>();
  const auto allowed = json["error_allowed"].get<double>();
  if (error <= allowed) return;
  throw std::runtime_error(fmt::format("{} with codec {}: a mean of {} values is off by {}, {} is allowed",
                                       combination.algorithm, name(combination.codec), combination.size, error,
                                       allowed));
}

std::vector<std::string> algorithms(const BenchAllreduceArguments& arguments) {
  if (!arguments.algorithms.empty()) return arguments.algorithms;
  return arguments.between_processes() ? std::vector<std::string>{"direct", "ring", gloo_ring} : names<Algorithm>();
}

std::vector<Combination> combinations(const BenchAllreduceArguments& arguments) {
  std::vector<Combination> all;
  for (const int ranks : arguments.ranks) {
    for (const std::size_t size : arguments.sizes) {
      for (const std::string& algorithm : algorithms(arguments)) {
        for (const std::string& codec : arguments.codecs) {
          const Combination combination = {ranks, size, algorithm, named<Codec>(codec)};
          if (combination.has_codecs() || combination.codec == Codec::none) all.push_back(combination);
        }
      }
    }
  }
  return all;
}

/// What is wrong with the arguments taken together; empty if nothing is.
std::string fault(const BenchAllreduceArguments& arguments) {
  const std::vector<std::string> chosen = algorithms(arguments);
  const auto has = [&](const char* algorithm) { return std::ranges::find(chosen, algorithm) != chosen.end(); };
  if (combinations(arguments).empty()) {
    return "the native algorithm and gloo-ring have no codecs: there is nothing to measure";
  }
  if (!arguments.between_processes()) {
    return has(gloo_ring) ? "--algorithms gloo-ring is between processes: it needs --rank and --meet" : "";
  }
  if (arguments.ranks.size() != 1) return "--ranks between processes is one number, the same in all of them";
  if (*arguments.rank >= arguments.ranks.front()) {
    return fmt::format("--rank {}: there are ranks 0 to {}", *arguments.rank, arguments.ranks.front() - 1);
  }
  if (has("native"))
    return "--algorithms native is in shared memory; between processes there are direct, ring and gloo-ring";
  if (arguments.interface.empty() && arguments.towards.empty()) {
    return "--rank needs --interface or --towards, for the address that others reach this host by";
  }
  return "";
}

int bench_allreduce(const BenchAllreduceArguments& arguments) {
  if (const std::string wrong = fault(arguments); !wrong.empty()) {
    fmt::print(stderr, "error: {}\n", wrong);
    return exit_usage;
  }
  for (const Combination& combination : combinations(arguments)) measure(combination, arguments);
  return exit_done;
}

void add_process_options(CLI::App& command, BenchAllreduceArguments& arguments) {
  auto* const rank =
      command.add_option("--rank", arguments.rank, "measure between processes, started by hand: which this is")
          ->check(CLI::Range(0, 63));
  auto* const folder = command.add_option("--meet", arguments.folder, "an empty folder that all processes share")
                           ->check(CLI::ExistingDirectory)
                           ->needs(rank);
  rank->needs(folder);
  auto* const interface =
      command.add_option("--interface", arguments.interface, "the network interface to be reached by")->needs(rank);
  command.add_option("--towards", arguments.towards, "the same as a host: by what leads there")
      ->needs(rank)
      ->excludes(interface);
  command
      .add_option("--rate-gbit", arguments.gigabits_per_second,
                  "what each rank's link carries, in Gb/s, to compare with")
      ->check(CLI::PositiveNumber)
      ->needs(rank);
}

}  // namespace

void add_bench_allreduce(CLI::App& bench, Action& chosen) {
  auto* command = bench.add_subcommand("allreduce",
                                       "how long a mean of vectors takes between threads, or processes, each result "
                                       "compared with a float64 sum");
  auto arguments = std::make_shared<BenchAllreduceArguments>();
  const auto list = [&](const char* option, auto& values, const char* help) {
    return command->add_option(option, values, help)->delimiter(',')->capture_default_str();
  };
  std::vector<std::string> known = names<Algorithm>();
  known.emplace_back(gloo_ring);
  list("--ranks", arguments->ranks, "threads, or processes, that take part")->check(CLI::Range(1, 64));
  list("--sizes", arguments->sizes, "lengths of the vectors, in values")->check(CLI::Range(0, 1 << 30));
  list("--algorithms", arguments->algorithms,
       "native (between threads), direct, ring, gloo-ring (between processes: Gloo's own); all by default")
      ->check(CLI::IsMember(known));
  list("--codecs", arguments->codecs, "none, bf16, int8; native and gloo-ring have none")
      ->check(CLI::IsMember(names<Codec>()));
  command->add_option("--rounds", arguments->rounds, "measurements of each combination")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command->add_option("--segment", arguments->segment, "most values in a message of direct and ring")
      ->check(CLI::Range(1, 1 << 30))
      ->capture_default_str();
  add_process_options(*command, *arguments);
  command->callback([arguments, &chosen] { chosen = [arguments] { return bench_allreduce(*arguments); }; });
}

}  // namespace tandem::tools
