#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "comm/codec.h"
#include "tools/bench.h"

namespace tandem::tools {
namespace {

using config::Codec;
using nlohmann::ordered_json;

struct BenchCodecArguments {
  std::size_t values = std::size_t{1} << 24;
  int rounds = 15;
};

/// What is measured on, all of it touched once so that no page is new.
struct Vectors {
  explicit Vectors(std::size_t size)
      : values(benchmark_values(size, 0)),
        residual(size, 0.0F),
        new_residual(size, 0.0F),
        result(size, 0.0F),
        bytes(comm::encoded_size(Codec::none, size)) {}

  std::vector<float> values;
  std::vector<float> residual;
  std::vector<float> new_residual;
  std::vector<float> result;
  std::vector<std::byte> bytes;
};

struct Operation {
  const char* name;
  std::function<void()> run;
};

void require(bool holds, Codec codec, const char* what) {
  if (!holds) throw std::runtime_error(fmt::format("codec {}: {}", name(codec), what));
}

/// Whether what `bytes` hold is the values, as near as the codec gets to values of up to 1.
bool is_near(Codec codec, std::span<const std::byte> bytes, const Vectors& vectors) {
  std::vector<float> decoded(vectors.values.size());
  comm::decode(codec, bytes, decoded);
  const double allowed = comm::round_trip_error(codec);
  const auto near = [&](float a, float b) { return std::abs(static_cast<double>(a) - b) <= allowed; };
  return std::equal(decoded.begin(), decoded.end(), vectors.values.begin(), near);
}

std::vector<Operation> operations(Codec codec, Vectors& vectors) {
  const std::span bytes = std::span(vectors.bytes).first(comm::encoded_size(codec, vectors.values.size()));
  return {
      {"encode", [=, &vectors] { require(comm::encode(codec, vectors.values, bytes), codec, "not finite"); }},
      {"encode_with_feedback",
       [=, &vectors] {
         const bool finite =
             comm::encode_with_feedback(codec, vectors.values, vectors.residual, vectors.new_residual, bytes);
         require(finite, codec, "not finite");
       }},
      {"decode", [=, &vectors] { comm::decode(codec, bytes, vectors.result); }},
      {"decode_add", [=, &vectors] { comm::decode_add(codec, bytes, 0.25F, vectors.result); }},
  };
}

void measure(Codec codec, const Operation& operation, const BenchCodecArguments& arguments) {
  std::vector<double> seconds;
  operation.run();
  for (int round = 0; round < arguments.rounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    operation.run();
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  const double gigabytes = static_cast<double>(arguments.values * sizeof(float)) / 1e9;
  const double shortest = *std::min_element(seconds.begin(), seconds.end());
  const ordered_json json = {
      {"codec", name(codec)},
      {"operation", operation.name},
      {"values", arguments.values},
      {"rounds", arguments.rounds},
      {"seconds_min", shortest},
      {"seconds_median", median(seconds)},
      {"gigabytes_per_second", gigabytes / median(seconds)},
      {"gigabytes_per_second_max", gigabytes / shortest},
  };
  fmt::print("{}\n", json.dump());
}

int bench_codec(const BenchCodecArguments& arguments) {
  Vectors vectors(arguments.values);
  const Operation copy = {
      "copy",
      [&] { std::memcpy(vectors.result.data(), vectors.values.data(), vectors.values.size() * sizeof(float)); }};
  measure(Codec::none, copy, arguments);
  require(vectors.result == vectors.values, Codec::none, "a copy differs");
  for (const Codec codec : {Codec::none, Codec::bf16, Codec::int8}) {
    for (const Operation& operation : operations(codec, vectors)) measure(codec, operation, arguments);
    const std::span bytes = std::span(vectors.bytes).first(comm::encoded_size(codec, arguments.values));
    require(is_near(codec, bytes, vectors), codec, "what was decoded is not what was encoded");
  }
  return exit_done;
}

}  // namespace

void add_bench_codec(CLI::App& bench, Action& chosen) {
  auto* command = bench.add_subcommand("codec", "how fast one core puts float32 vectors into bytes and back");
  auto arguments = std::make_shared<BenchCodecArguments>();
  command->add_option("--values", arguments->values, "length of the vectors; more than fits into the caches")
      ->check(CLI::Range(1, 1 << 30))
      ->capture_default_str();
  command->add_option("--rounds", arguments->rounds, "measurements of each")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command->callback([arguments, &chosen] { chosen = [arguments] { return bench_codec(*arguments); }; });
}

}  // namespace tandem::tools
