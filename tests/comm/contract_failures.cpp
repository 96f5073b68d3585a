#include <array>
#include <atomic>
#include <catch2/catch.hpp>

#include "comm/contract.h"

namespace tandem::comm::test {
namespace {

using std::chrono::milliseconds;

constexpr int kRanks = 4;
constexpr int kAway = 1;  // the rank that does not come

/// A call that blocks on all ranks but kAway until kAway calls too.
struct Operation {
  std::string name;
  std::function<void(Communicator&)> call;
};

const std::array<float, 3> kValues = {1, 2, 3};

std::vector<Operation> operations() {
  return {
      {"all_reduce_mean",
       [](Communicator& end) {
         (void)end.all_reduce_mean({7, kValues, 1.0});
       }},
      {"broadcast",
       [](Communicator& end) {
         std::array<std::byte, 5> data{};
         end.broadcast(kAway, data);
       }},
      {"barrier", [](Communicator& end) { end.barrier(); }},
      {"receive",
       [](Communicator& end) {
         std::array<std::byte, 5> data{};
         end.receive(kAway, 6, data);
       }},
      {"receive",
       [](Communicator& end) {
         std::array<std::byte, 5> data{};
         end.receive_any(std::array{kAway}, 6, data, end.deadline());
       }},
  };
}

/// Every call on a dead group throws.
void require_dead(const Group& group) {
  for (const auto& end : group) {
    for (const Operation& operation : operations()) REQUIRE_THROWS_AS(operation.call(*end), CommError);
    REQUIRE_THROWS_AS(end->send(0, 6, std::array<std::byte, 5>{}), AbortedError);
  }
}

Catch::Matchers::StdString::RegexMatcher names_rank(int rank) {
  return Catch::Matches(".*ranks? ([0-9]+, )*" + std::to_string(rank) + "\\b.*");
}

/// Ranks that enter `operation`, in which they would wait for kAway, fail with the reason of an abort.
void require_abort_ends(const Operation& operation) {
  const Group group = make_group({.size = kRanks});
  std::atomic<int> about_to_enter = 0;
  const auto errors = run_failing_ranks(group, [&](Communicator& end) {
    if (end.rank() == kAway) {
      for (int seen = about_to_enter; seen < kRanks - 1; seen = about_to_enter) about_to_enter.wait(seen);
      group[0]->abort("no more coffee");
      group[0]->abort("a second reason");
      return;
    }
    ++about_to_enter;
    about_to_enter.notify_all();
    operation.call(end);
  });
  for (int rank = 0; rank < kRanks; ++rank) {
    if (rank == kAway) continue;
    const auto& error = errors[static_cast<std::size_t>(rank)];
    REQUIRE(is_a<AbortedError>(error));
    CHECK_THAT(message(error), Catch::Contains("no more coffee") && Catch::Contains(operation.name) &&
                                   Catch::Contains("rank " + std::to_string(rank)));
  }
  REQUIRE_THROWS_WITH(group[kAway]->barrier(), Catch::Contains("no more coffee"));
  require_dead(group);
}

}  // namespace

TEST_CASE("abort unblocks all ranks, whatever they wait in, with its reason") {
  for (const Operation& operation : operations()) {
    CAPTURE(operation.name);
    // Ranks cannot say that they block, only that they are about to: in some rounds the abort comes before, in others
    // after.
    for (int round = 0; round < 30; ++round) require_abort_ends(operation);
  }
}

TEST_CASE("a rank that never comes ends the others' wait at the deadline, with its name, elapsed and allowed time") {
  for (const Operation& operation : operations()) {
    CAPTURE(operation.name);
    const Group group = make_group({.size = kRanks, .deadline = milliseconds(50)});
    const auto errors = run_failing_ranks(group, [&](Communicator& end) {
      if (end.rank() != kAway) operation.call(end);
    });
    int deadlines = 0;
    for (int rank = 0; rank < kRanks; ++rank) {
      if (rank == kAway) continue;
      const auto& error = errors[static_cast<std::size_t>(rank)];
      REQUIRE(is_a<CommError>(error));
      if (!is_a<DeadlineError>(error)) continue;
      ++deadlines;
      CHECK_THAT(message(error), Catch::Contains(operation.name) && names_rank(kAway) &&
                                     Catch::Matches(".* [0-9]+\\.[0-9]{3} s, 0\\.050 s is allowed.*"));
      if (operation.name == "all_reduce_mean") CHECK_THAT(message(error), Catch::Contains("step 7"));
    }
    REQUIRE(deadlines >= 1);
    REQUIRE_THROWS_AS(operation.call(*group[kAway]), CommError);
    require_dead(group);
  }
}

TEST_CASE("a rank whose end is destroyed is not waited for until the deadline") {
  for (const Operation& operation : operations()) {
    CAPTURE(operation.name);
    Group group = make_group({.size = kRanks});
    const auto left = group[kAway].get();
    const auto errors = run_failing_ranks(group, [&](Communicator& end) {
      if (&end == left) return group[kAway].reset();
      operation.call(end);
    });
    for (int rank = 0; rank < kRanks; ++rank) {
      if (rank == kAway) continue;
      const auto& error = errors[static_cast<std::size_t>(rank)];
      REQUIRE(is_a<CommError>(error));
      REQUIRE_FALSE(is_a<DeadlineError>(error));
      CHECK_THAT(message(error), Catch::Contains(operation.name) && names_rank(kAway));
    }
  }
}

TEST_CASE("ends that are destroyed as soon as their rank is done disturb nobody") {
  for (int round = 0; round < 100; ++round) {
    Group group = make_group({.size = kRanks});
    const auto errors = run_failing_ranks(group, [&](Communicator& end) {
      const int rank = end.rank();
      const int next = (rank + 1) % kRanks;
      std::array<std::byte, 5> data{};
      end.send(next, 0, data);
      end.barrier();
      (void)end.all_reduce_mean({1, kValues, 1.0});
      end.receive((rank + kRanks - 1) % kRanks, 0, data);
      group[static_cast<std::size_t>(rank)].reset();
    });
    for (const auto& error : errors) REQUIRE(message(error) == "");
  }
}

TEST_CASE("ranks that meet in different collectives, or with different arguments, all fail") {
  const auto reduce = [](Step step, std::size_t size) {
    return [=](Communicator& end) { (void)end.all_reduce_mean({step, std::span(kValues).first(size), 1.0}); };
  };
  const auto broadcast = [](int root, std::size_t size) {
    return [=](Communicator& end) {
      std::array<std::byte, 8> data{};
      end.broadcast(root, std::span(data).first(size));
    };
  };
  const auto barrier = [](Communicator& end) { end.barrier(); };
  using Call = std::function<void(Communicator&)>;
  struct Mismatch {
    std::string name;
    Call most;
    Call odd;
  };
  const std::vector<Mismatch> mismatches = {
      {"steps", reduce(1, 3), reduce(2, 3)},
      {"sizes of means", reduce(1, 3), reduce(1, 2)},
      {"mean and barrier", reduce(1, 3), barrier},
      {"barrier and broadcast", barrier, broadcast(0, 4)},
      {"broadcast and mean", broadcast(0, 3), reduce(1, 3)},
      {"roots", broadcast(0, 4), broadcast(1, 4)},
      {"sizes of broadcasts", broadcast(0, 4), broadcast(0, 8)},
  };
  for (const auto& [name, most, odd] : mismatches) {
    for (int odd_rank = 0; odd_rank < 3; ++odd_rank) {
      CAPTURE(name, odd_rank);
      const Group group = make_group({.size = 3});
      const Call& call_most = most;
      const Call& call_odd = odd;
      const auto errors =
          run_failing_ranks(group, [&](Communicator& end) { (end.rank() == odd_rank ? call_odd : call_most)(end); });
      for (const auto& error : errors) {
        REQUIRE(is_a<CommError>(error));
        REQUIRE_FALSE(is_a<DeadlineError>(error));
      }
      require_dead(group);
    }
  }
}

}  // namespace tandem::comm::test
