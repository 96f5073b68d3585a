#include "comm/hierarchical.h"

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <limits>
#include <thread>

#include "comm/forwarding_communicator.h"
#include "comm/hierarchical_fixture.h"
#include "comm/in_process.h"
#include "comm/mean_fixture.h"
#include "comm/peer_group_fixture.h"
#include "comm/reference_exchange.h"
#include "comm/reference_mean.h"

namespace tandem::comm::test {
namespace {

using config::Algorithm;
using config::Codec;
using Hosts = std::vector<std::vector<int>>;

constexpr std::size_t kSegment = 1500;
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

int ranks_in(const Hosts& hosts) {
  int ranks = 0;
  for (const auto& host : hosts) ranks += static_cast<int>(host.size());
  return ranks;
}

Group make_group(const HierarchicalOptions& options, Duration deadline = std::chrono::minutes(2)) {
  return make_hierarchical(make_in_process_group({.size = ranks_in(options.hosts), .deadline = deadline}), options);
}

/// What the ranks of each host contribute together, in plain loops.
Vectors host_means(const Hosts& hosts, const Vectors& contributions, const Weights& weights, Weights& host_weights) {
  Vectors means;
  host_weights.clear();
  for (const auto& host : hosts) {
    Vectors own;
    Weights own_weights;
    host_weights.push_back(0);
    for (const int rank : host) {
      own.push_back(contributions[index(rank)]);
      own_weights.push_back(weights[index(rank)]);
      host_weights.back() += weights[index(rank)];
    }
    std::vector<float>& mean = means.emplace_back(own.front().size());
    for (std::size_t i = 0; i < mean.size(); ++i) {
      mean[i] = host.size() == 1 ? own.front()[i] : reference_mean(own, own_weights, i);
    }
  }
  return means;
}

/// Ends up with an error that names `rank`, and nobody else, as the one that sent nothing.
void require_late(const std::exception_ptr& error, int rank) {
  REQUIRE(is_a<CommError>(error));
  CHECK_THAT(message(error), Catch::Contains(": rank " + std::to_string(rank) + " sent nothing in time"));
}

/// Throws once it has sent `sends` messages.
class RunsOut : public ForwardingCommunicator {
 public:
  RunsOut(std::unique_ptr<Communicator> target, int sends)
      : ForwardingCommunicator(std::move(target)), sends_left_(sends) {}

  void send(int to, std::uint32_t tag, std::span<const std::byte> data) override {
    if (sends_left_-- == 0) throw std::runtime_error("the shelf is empty");
    ForwardingCommunicator::send(to, tag, data);
  }

 private:
  int sends_left_;
};

}  // namespace

TEST_CASE("the mean has the bits of plain loops over ranks and hosts, also over hosts without samples") {
  const Algorithm algorithm = GENERATE(Algorithm::direct, Algorithm::ring);
  const Codec codec = GENERATE(Codec::none, Codec::bf16, Codec::int8);
  const Hosts hosts = GENERATE(Hosts{{0, 1}, {2, 3}}, Hosts{{0, 1, 2}, {3}}, Hosts{{1, 4}, {0, 2, 5}, {3}});
  const int ranks = ranks_in(hosts);
  const std::vector<Weights> all_weights = {
      Weights(index(ranks), 1.0), {3, 0, 5, 1, 2, 7}, {0, 2, 0, 0, 1, 0}, {0, 0, 4, 9, 0, 1}, {5, 1, 1, 0, 3, 2}};
  const std::size_t segment_values = GENERATE(as<std::size_t>{}, kSegment, 65536);  // of several segments, or short
  const MessageMeanOptions options = {.algorithm = algorithm, .codec = codec, .segment_values = segment_values};
  const Group group = make_group({.hosts = hosts, .mean = options});
  ReferenceExchange reference(options, static_cast<int>(hosts.size()));
  CAPTURE(name(algorithm), name(codec), hosts, segment_values, Catch::rngSeed());
  for (Step step = 0; step < 10; ++step) {
    Weights weights = all_weights[static_cast<std::size_t>(step) % all_weights.size()];
    weights.resize(index(ranks));
    const Vectors contributions = random_contributions(ranks, 10'007, step);
    Weights host_weights;
    const Vectors sums = host_means(hosts, contributions, weights, host_weights);
    const auto expected = reference.reduce(sums, host_weights);
    for (const Result& result : reduce(group, step, contributions, weights)) {
      REQUIRE(same_bits(result.values, expected.mean));
      REQUIRE(result.mean.finite);
    }
  }
}

TEST_CASE("of the ranks that are not finite the lowest is named by its number in the whole group") {
  const Hosts hosts = {{0, 3}, {1, 2}, {4}};
  struct Spoiled {
    std::vector<int> ranks;
    int lowest;
  };
  const auto [spoiled, lowest] =
      GENERATE(Spoiled{{3}, 3}, Spoiled{{2}, 2}, Spoiled{{3, 1}, 1}, Spoiled{{3, 2, 4}, 2}, Spoiled{{4}, 4});
  const Codec codec = GENERATE(Codec::none, Codec::int8);
  const Group group = make_group({.hosts = hosts, .mean = {.codec = codec, .segment_values = kSegment}});
  Vectors contributions = random_contributions(5, 5000, 0);
  for (const int rank : spoiled) contributions[index(rank)][index(rank) * 1000] = kNaN;
  CAPTURE(spoiled, name(codec));
  for (const Result& result : reduce(group, 0, contributions, Weights(5, 1.0))) {
    REQUIRE_FALSE(result.mean.finite);
    REQUIRE(result.mean.non_finite_rank == lowest);
  }
}

TEST_CASE("ranks of a host share one copy of the mean, and may hold on to as many as they are promised") {
  constexpr int kKept = 3;
  const Group group = make_group({.hosts = {{0, 1}, {2, 3}}, .mean = {.results_kept = kKept}});
  std::vector<std::vector<const float*>> places(4);
  std::atomic<int> wrong = 0;
  run_ranks(group, [&](Communicator& end) {
    const std::vector<float> ones(3000, 1.0F);
    std::vector<float> values(ones.size());
    std::vector<Mean> held;
    for (Step step = 0; step < 20; ++step) {
      // This call gives up the mean of kKept calls ago.
      if (held.size() == kKept) held.erase(held.begin());
      for (float& value : values) value = static_cast<float>(step);
      held.push_back(end.all_reduce_mean({step, values, 1.0}));
      places[index(end.rank())].push_back(held.back().values.data());
      for (const Mean& mean : held) {
        for (const float value : mean.values) wrong += value == static_cast<float>(mean.step) ? 0 : 1;
      }
    }
  });
  REQUIRE(wrong == 0);
  REQUIRE(places[0] == places[1]);
  REQUIRE(places[2] == places[3]);
  REQUIRE(places[0] != places[2]);
}

TEST_CASE("a mean outlives the end of the leader that made it") {
  Group group = make_group({.hosts = {{0, 1}, {2, 3}}});
  const auto results = reduce(group, 0, Vectors(4, std::vector<float>(5000, 3.0F)), Weights(4, 1.0));
  for (const int rank : {0, 2, 3}) group[index(rank)].reset();
  REQUIRE(results[1].mean.values[4999] == 3.0F);
}

TEST_CASE("a rank that is late is named itself on every host, whether or not it leads one") {
  const int away = GENERATE(0, 1, 2);
  const std::function<void(Communicator&)> mean = [](Communicator& end) {
    (void)end.all_reduce_mean({7, std::vector<float>(10'000, 1.0F), 1.0});
  };
  const std::function<void(Communicator&)> barrier = [](Communicator& end) { end.barrier(); };
  const std::function<void(Communicator&)> broadcast = [](Communicator& end) {
    std::array<std::byte, 5> data{};
    end.broadcast(3, data);
  };
  for (const auto& call : {mean, barrier, broadcast}) {
    const Group group = make_group({.hosts = {{0, 1}, {2, 3, 4}}}, std::chrono::seconds(2));
    const auto errors = run_failing_ranks(group, [&](Communicator& end) {
      if (end.rank() != away) call(end);
    });
    CAPTURE(away);
    for (int rank = 0; rank < 5; ++rank) {
      if (rank != away) require_late(errors[index(rank)], away);
    }
  }
}

TEST_CASE("ranks of different hosts that came with different steps, sizes or settings are named, with both") {
  const auto errors_of = [](const std::function<Contribution(int)>& contribution) {
    const Group group = make_group({.hosts = {{0, 1}, {2, 3}}});
    return run_failing_ranks(group, [&](Communicator& end) { (void)end.all_reduce_mean(contribution(end.rank())); });
  };
  const std::vector<float> values(2000, 1.0F);
  for (const auto& error : errors_of([&](int rank) { return Contribution{rank < 2 ? 7 : 8, values, 1.0}; })) {
    REQUIRE(is_a<CommError>(error));
    REQUIRE_FALSE(is_a<DeadlineError>(error));
    CHECK_THAT(message(error), Catch::Matches(".*rank [01] (came )?with step 7.*") &&
                                   Catch::Matches(".*rank [23] (came )?with step 8.*"));
  }
  for (const auto& error : errors_of([&](int rank) {
         return Contribution{7, std::span(values).first(rank == 3 ? 1999 : 2000), 1.0};
       })) {
    CHECK_THAT(message(error), Catch::Matches(".*rank 3 (came )?with size 1999.*") &&
                                   Catch::Matches(".*rank [012] (came )?with size 2000.*"));
  }
}

TEST_CASE("an abort on one host ends those of another that wait for each other in memory") {
  for (int round = 0; round < 20; ++round) {
    const Group group = make_group({.hosts = {{0, 1}, {2, 3, 4}}});
    std::atomic<int> waiting = 0;
    const auto errors = run_failing_ranks(group, [&](Communicator& end) {
      if (end.rank() == 2) {
        for (int seen = waiting; seen < 4; seen = waiting) waiting.wait(seen);
        return group[0]->abort("no more tea");
      }
      ++waiting;
      waiting.notify_all();
      (void)end.all_reduce_mean({7, std::vector<float>(100, 1.0F), 1.0});
    });
    for (const int rank : {0, 1, 3, 4}) {
      REQUIRE(is_a<AbortedError>(errors[index(rank)]));
      CHECK_THAT(message(errors[index(rank)]),
                 Catch::StartsWith("all_reduce_mean of step 7 on rank " + std::to_string(rank)) &&
                     Catch::Contains("no more tea"));
    }
  }
}

TEST_CASE("whatever fails on a rank, at any point, ends the group on all hosts with its reason") {
  const int failing = GENERATE(0, 1, 2, 3);
  for (int sends = 0; sends < 16; ++sends) {
    CAPTURE(failing, sends);
    Group flat = make_in_process_group({.size = 4});
    flat[index(failing)] = std::make_unique<RunsOut>(std::move(flat[index(failing)]), sends);
    const Group group = make_hierarchical(
        std::move(flat), {.hosts = {{0, 1}, {2, 3}}, .mean = {.codec = Codec::bf16, .segment_values = 64}});
    const auto errors = run_failing_ranks(group, [](Communicator& end) {
      for (Step step = 7;; ++step) (void)end.all_reduce_mean({step, std::vector<float>(200, 1.0F), 1.0});
    });
    for (int rank = 0; rank < 4; ++rank) {
      REQUIRE(is_a<CommError>(errors[index(rank)]));
      CHECK_THAT(message(errors[index(rank)]),
                 Catch::Contains(" on rank " + std::to_string(rank)) &&
                     Catch::Contains("on rank " + std::to_string(failing) + ": the shelf is empty"));
    }
  }
}

TEST_CASE("only leaders put means on the network, and only they encode them") {
  const Group group =
      make_hierarchical(make_peer_group({.size = 4}), {.hosts = {{0, 1}, {2, 3}}, .mean = {.codec = Codec::int8}});
  constexpr std::size_t kSize = 1'000'000;
  const auto results = reduce(group, 0, random_contributions(4, kSize, 0), Weights(4, 1.0));
  for (const int rank : {0, 2}) {
    REQUIRE(group[index(rank)]->bytes_sent() > kSize);
    REQUIRE(results[index(rank)].mean.encoding > Duration::zero());
    REQUIRE(results[index(rank)].mean.decoding > Duration::zero());
  }
  for (const int rank : {1, 3}) {
    REQUIRE(group[index(rank)]->bytes_sent() < kSize / 10);
    REQUIRE(results[index(rank)].mean.encoding == Duration::zero());
    REQUIRE(results[index(rank)].mean.decoding == Duration::zero());
  }
  for (const Result& result : results) REQUIRE(same_bits(result.values, results[0].values));
}

TEST_CASE("a group on one host quantizes nothing") {
  const Group group = make_group({.hosts = {{0, 1, 2}}, .mean = {.codec = Codec::int8}});
  const Vectors contributions = random_contributions(3, 1001, 0);
  const Weights weights = {1, 0, 3};
  const auto results = reduce(group, 0, contributions, weights);
  std::size_t same = 0;
  for (std::size_t i = 0; i < 1001; ++i)
    same += results[2].values[i] == reference_mean(contributions, weights, i) ? 1 : 0;
  REQUIRE(same == 1001);
  REQUIRE(results[0].mean.values.data() == results[2].mean.values.data());
}

TEST_CASE("hosts that do not have every rank once, or not the ranks of the ends, are refused") {
  const auto make = [](const Hosts& hosts) {
    (void)make_hierarchical_group(make_in_process_group({.size = 3}), {.hosts = hosts});
  };
  REQUIRE_NOTHROW(make({{0, 1, 2}}));
  REQUIRE_THROWS_WITH(make({{0, 1}, {3}}), Catch::Contains("0 to 2 once") && Catch::Contains("0, 1, 3"));
  REQUIRE_THROWS_WITH(make({{0, 1, 2}, {2}}), Catch::Contains("0, 1, 2, 2"));
  REQUIRE_THROWS_WITH(make({{0, 1, 2}, {}}), Catch::Contains("no ranks"));
  REQUIRE_THROWS_WITH(make({{0, 2, 1}}), Catch::Contains("ascending") && Catch::Contains("0, 2, 1"));
  REQUIRE_THROWS_WITH(make({{0, 1}, {2}}), Catch::Contains("no host has just ranks 0, 1, 2"));
  REQUIRE_THROWS_AS(make({}), std::invalid_argument);
  REQUIRE_THROWS_AS(make_hierarchical_group({}, {.hosts = {{0}}}), std::invalid_argument);
  REQUIRE_THROWS_AS(make_hierarchical_group(make_in_process_group({}), {.hosts = {{0}}, .mean = {.segment_values = 0}}),
                    std::invalid_argument);
}

}  // namespace tandem::comm::test
