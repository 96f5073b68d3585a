#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "comm/interface.h"
#include "comm/mean_fixture.h"
#include "comm/memory_store.h"
#include "comm/peer_group_fixture.h"
#include "comm/reference_mean.h"
#include "comm/signal_storm.h"

namespace tandem::comm::test {
namespace {

using std::chrono::seconds;

/// As many bytes as no credit of a receiver covers.
constexpr std::size_t kHuge = 20'000'000;

/// A store that has a card for every rank, all of them the same.
class SpoiledStore : public Store {
 public:
  void set(const std::string&, std::span<const std::byte>) override {}
  std::optional<std::vector<std::byte>> get(const std::string&, std::chrono::steady_clock::time_point) override {
    return std::vector<std::byte>(3, std::byte{7});
  }
};

}  // namespace

TEST_CASE("options out of range are refused") {
  MemoryStore store;
  const auto make = [&](const PeerGroupOptions& options) { (void)make_end(store, options); };
  REQUIRE_NOTHROW(make({}));
  REQUIRE_THROWS_AS(make({.size = 0}), std::invalid_argument);
  REQUIRE_THROWS_AS(make({.rank = 2, .size = 2, .address = "127.0.0.1"}), std::invalid_argument);
  REQUIRE_THROWS_AS(make({.rank = -1, .size = 2, .address = "127.0.0.1"}), std::invalid_argument);
  REQUIRE_THROWS_AS(make({.results_kept = 0}), std::invalid_argument);
  REQUIRE_THROWS_AS(make({.deadline = Duration::zero()}), std::invalid_argument);
  REQUIRE_THROWS_AS(make({.deadline = longest_wait + seconds(1)}), std::invalid_argument);
  REQUIRE_THROWS_AS(make({.connect_deadline = Duration::zero()}), std::invalid_argument);
  REQUIRE_THROWS_AS(make({.size = 2}), std::invalid_argument);  // without an address
}

TEST_CASE("an address that is not of this host is an error that names it") {
  MemoryStore store;
  // Reserved for documentation.
  REQUIRE_THROWS_WITH((void)make_end(store, {.size = 2, .address = "192.0.2.1"}), Catch::Contains("192.0.2.1"));
}

TEST_CASE("a rank is reached at the address that it is given, whatever its host's name means") {
  MemoryStore store;
  const std::array<std::string, 2> addresses = {"127.0.0.2", "127.0.0.3"};
  std::array<float, 2> means{};
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      const auto end =
          make_end(store, {.rank = rank, .size = 2, .address = addresses[index(rank)], .key_prefix = "job"});
      means[index(rank)] = end->all_reduce_mean({0, std::array{static_cast<float>(rank)}, 1.0}).values[0];
    });
  }
  for (std::thread& thread : threads) thread.join();
  REQUIRE(means == std::array{0.5F, 0.5F});
  for (const int rank : {0, 1}) {
    const auto card = store.get("job/rank/" + std::to_string(rank), std::chrono::steady_clock::now());
    REQUIRE(card.has_value());
    const std::string text(reinterpret_cast<const char*>(card->data()), card->size());
    const std::string as_bytes = {127, 0, 0, static_cast<char>(2 + rank)};
    CHECK_THAT(text, Catch::Contains(as_bytes) || Catch::Contains("tcp://" + addresses[index(rank)]));
  }
}

TEST_CASE("ranks that do not come to a group are named, all of them, at the deadline") {
  MemoryStore store;
  std::array<std::string, 2> errors;
  std::vector<std::thread> threads;
  for (const int rank : {0, 2}) {
    threads.emplace_back([&, rank] {
      try {
        (void)make_end(
            store,
            {.rank = rank, .size = 4, .address = "127.0.0.1", .key_prefix = "job", .connect_deadline = seconds(3)});
      } catch (const DeadlineError& error) {
        errors[index(rank) / 2] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& error : errors) {
    CHECK_THAT(error, Catch::Contains("ranks 1, 3 did not come") && Catch::Contains("3.000 s is allowed"));
  }
}

TEST_CASE("what is no address card is an error that names whose it is") {
  SpoiledStore store;
  REQUIRE_THROWS_WITH((void)make_end(store, {.size = 2, .address = "127.0.0.1"}),
                      Catch::Contains("rank 1") && Catch::Contains("address card"));
}

TEST_CASE("groups that share a store keep apart by their key prefixes") {
  MemoryStore store;
  std::array<float, 4> means{};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      const auto end =
          make_end(store, {.rank = i % 2, .size = 2, .address = "127.0.0.1", .key_prefix = i < 2 ? "job 1" : "job 2"});
      means[index(i)] = end->all_reduce_mean({0, std::array{static_cast<float>(i)}, 1.0}).values[0];
    });
  }
  for (std::thread& thread : threads) thread.join();
  REQUIRE(means == std::array{0.5F, 0.5F, 2.5F, 2.5F});
}

TEST_CASE("the mean has the bits that the in-process mean has") {
  const std::size_t size = GENERATE(1U, 1001U, 600'000U);
  const Group group = make_peer_group({.size = 3});
  const Vectors contributions = random_contributions(3, size, 0);
  const Weights weights = {3.0, 0.0, 5.0};
  CAPTURE(size, Catch::rngSeed());
  std::size_t same = 0;
  const auto results = reduce(group, 0, contributions, weights);
  for (std::size_t i = 0; i < size; ++i) {
    same += results[1].values[i] == reference_mean(contributions, weights, i) ? 1 : 0;
  }
  REQUIRE(same == size);
}

TEST_CASE("what an end has sent arrives even if it is destroyed at once and the receiver is late") {
  Group group = make_peer_group({.size = 2});
  const std::vector<std::byte> sent(kHuge, std::byte{42});
  group[0]->send(1, 3, sent);
  group[0].reset();
  std::vector<std::byte> received(kHuge);
  group[1]->receive(0, 3, received);
  REQUIRE((received == sent));
  REQUIRE_THROWS_WITH(group[1]->receive(0, 3, received), Catch::Contains("rank 0 has left the group"));
}

TEST_CASE("an abort reaches a rank that has much to receive yet") {
  const Group group = make_peer_group({.size = 2});
  group[0]->send(1, 3, std::vector<std::byte>(kHuge));
  group[0]->abort("enough");
  std::vector<std::byte> received(kHuge + 1);
  REQUIRE_THROWS_WITH(group[1]->receive(0, 4, received), Catch::Contains("enough"));
}

TEST_CASE("signals that the program handles disturb no rank") {
  const tandem::test::SignalStorm storm;
  const Group group = make_peer_group({.size = 2});
  run_ranks(group, [](Communicator& end) {
    const std::vector<float> values(1000, 1.0F);
    for (Step step = 0; step < 300; ++step) (void)end.all_reduce_mean({step, values, 1.0});
  });
}

TEST_CASE("what is sent is counted, with all that goes with it") {
  const Group group = make_peer_group({.size = 2});
  const auto before = group[0]->bytes_sent();
  constexpr std::size_t kSize = 1'000'000;
  group[0]->send(1, 3, std::vector<std::byte>(kSize));
  const auto sent = group[0]->bytes_sent() - before;
  REQUIRE(sent > kSize);
  REQUIRE(sent < kSize + 2000);
}

TEST_CASE("a group of one rank needs neither an address nor others") {
  MemoryStore store;
  const auto end = make_end(store, {});
  REQUIRE(end->all_reduce_mean({0, std::array{7.0F}, 2.0}).values[0] == 7.0F);
  end->barrier();
  end->abort("done");
  REQUIRE_THROWS_AS(end->barrier(), AbortedError);
}

}  // namespace tandem::comm::test
