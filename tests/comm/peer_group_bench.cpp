#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include "comm/codec.h"
#include "comm/file_store.h"
#include "comm/gloo.h"
#include "comm/interface.h"
#include "comm/message_mean.h"
#include "comm/zeromq.h"

// Times all_reduce_mean between processes, on one host or several: a process a rank is started by hand, all with the
// same empty folder. Rank 0 prints a JSON line for each algorithm and codec.
namespace tandem::comm::test {
namespace {

using config::Algorithm;
using config::Codec;

constexpr std::size_t kValues = 5'800'000;
constexpr int kWarmUp = 3;

struct Kind {
  Algorithm algorithm;
  Codec codec;
};

/// That all threads of this process have used.
double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

std::unique_ptr<Communicator> with_kind(std::unique_ptr<Communicator> end, const Kind& kind) {
  if (kind.algorithm == Algorithm::native) return end;
  return with_message_mean(std::move(end), {.algorithm = kind.algorithm, .codec = kind.codec});
}

void check(const Mean& mean, double expected) {
  for (const float value : mean.values) {
    if (std::abs(value - expected) < 0.02 * expected) continue;
    std::fprintf(stderr, "wrong mean: %g, not %g\n", static_cast<double>(value), expected);
    std::exit(1);
  }
}

/// What the calls after the warm-up took, from when all had come.
struct Times {
  std::vector<double> seconds;   // of each, sorted
  double processor_seconds = 0;  // of this rank, a call
  std::uint64_t bytes = 0;       // sent by this rank in the last
};

Times time_calls(Communicator& end, int rounds) {
  const std::vector<float> values(kValues, 1.0F + static_cast<float>(end.rank()));
  Times times;
  for (int round = 0; round < kWarmUp + rounds; ++round) {
    end.barrier();
    const std::uint64_t before = end.bytes_sent();
    const double processor_before = processor_seconds();
    const auto begin = std::chrono::steady_clock::now();
    const Mean mean = end.all_reduce_mean({round, values, 1.0});
    const auto taken = std::chrono::steady_clock::now() - begin;
    const double processor = processor_seconds() - processor_before;
    times.bytes = end.bytes_sent() - before;
    check(mean, (1.0 + end.size()) / 2);
    if (round < kWarmUp) continue;
    times.seconds.push_back(std::chrono::duration<double>(taken).count());
    times.processor_seconds += processor / rounds;
  }
  std::ranges::sort(times.seconds);
  return times;
}

using Transport = std::unique_ptr<Communicator> (*)(Store&, const PeerGroupOptions&);

Transport transport_of(const std::string& name) {
  if (name == "gloo") return &make_gloo_communicator;
  if (name == "zeromq") return &make_zeromq_communicator;
  throw std::invalid_argument("there is no transport \"" + name + "\"");
}

void measure(Transport transport, Store& store, PeerGroupOptions options, const Kind& kind, int rounds,
             double bits_per_second) {
  options.key_prefix = std::string(name(kind.algorithm)) + "-" + name(kind.codec);
  const auto end = with_kind(transport(store, options), kind);
  const auto [seconds, processor, bytes] = time_calls(*end, rounds);
  end->barrier();
  if (options.rank != 0) return;
  const double share = 2.0 * (options.size - 1) / options.size;
  const double wire = share * 8 * static_cast<double>(encoded_size(kind.codec, kValues)) / bits_per_second;
  const double median = seconds[seconds.size() / 2];
  std::printf(
      "{\"algorithm\": \"%s\", \"codec\": \"%s\", \"ranks\": %d, \"values\": %zu, \"min_ms\": %.1f, \"median_ms\": "
      "%.1f, \"max_ms\": %.1f, \"processor_ms\": %.1f, \"sent_mb\": %.3f, \"wire_ms\": %.1f, \"times_wire\": %.3f}\n",
      name(kind.algorithm), name(kind.codec), options.size, kValues, seconds.front() * 1e3, median * 1e3,
      seconds.back() * 1e3, processor * 1e3, static_cast<double>(bytes) / 1e6, wire * 1e3, median / wire);
  std::fflush(stdout);
}

int run(int argc, char** argv) {
  if (argc != 8) {
    std::fprintf(stderr,
                 "usage: peer_group_bench gloo|zeromq RANK SIZE FOLDER HOST_OF_RANK_0 ROUNDS GIGABITS_PER_SECOND\n");
    return 2;
  }
  const Transport transport = transport_of(argv[1]);
  FileStore store(argv[4]);
  const PeerGroupOptions options = {.rank = std::atoi(argv[2]),
                                    .size = std::atoi(argv[3]),
                                    .address = local_address_towards(argv[5]),
                                    .name = argv[2]};
  for (const Kind& kind :
       {Kind{Algorithm::native, Codec::none}, Kind{Algorithm::direct, Codec::bf16},
        Kind{Algorithm::direct, Codec::int8}, Kind{Algorithm::ring, Codec::none}, Kind{Algorithm::ring, Codec::int8}}) {
    measure(transport, store, options, kind, std::atoi(argv[6]), std::atof(argv[7]) * 1e9);
  }
  return 0;
}

}  // namespace
}  // namespace tandem::comm::test

int main(int argc, char** argv) {
  try {
    return tandem::comm::test::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
