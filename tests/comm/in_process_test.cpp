#include "comm/in_process.h"

#include <array>
#include <catch2/catch.hpp>
#include <cfloat>
#include <cmath>

#include "comm/mean_fixture.h"
#include "comm/reference_mean.h"

namespace tandem::comm::test {

Group make_group(const GroupOptions& options) {
  return make_in_process_group(
      {.size = options.size, .results_kept = options.results_kept, .deadline = options.deadline});
}

/// Each rank adds at most one rounding of the scale, the product and the sum.
double mean_tolerance(int ranks) { return 3.0 * ranks; }

std::size_t large_size() { return (1 << 20) + 7; }

namespace {

using Call = std::function<void(Communicator&)>;

Call mean(Step step, std::size_t size) {
  return [=](Communicator& end) { (void)end.all_reduce_mean({step, std::vector<float>(size), 1.0}); };
}

Call broadcast(int root, std::size_t size) {
  return [=](Communicator& end) {
    std::vector<std::byte> data(size);
    end.broadcast(root, data);
  };
}

}  // namespace

TEST_CASE("the ends of a group know their place") {
  const Group group = make_group({.size = 3});
  REQUIRE(group.size() == 3);
  for (int rank = 0; rank < 3; ++rank) {
    REQUIRE(group[static_cast<std::size_t>(rank)]->rank() == rank);
    REQUIRE(group[static_cast<std::size_t>(rank)]->size() == 3);
  }
}

TEST_CASE("all ranks share one mean") {
  const Group group = make_group({.size = 3});
  std::array<const float*, 3> means{};
  run_ranks(group, [&](Communicator& end) {
    const std::vector<float> values(10);
    means[static_cast<std::size_t>(end.rank())] = end.all_reduce_mean({0, values, 1.0}).values.data();
  });
  REQUIRE(means[1] == means[0]);
  REQUIRE(means[2] == means[0]);
}

TEST_CASE("the mean is summed in rank order in float32, bit for bit") {
  const int ranks = GENERATE(range(1, 17));
  const Group group = make_group({.size = ranks});
  Step step = 0;
  for (const std::size_t size : {0, 1, 2, 7, 33, 1001, 100'003}) {
    for (const Weights& weights : weights_to_try(ranks)) {
      CAPTURE(ranks, size, weights, Catch::rngSeed());
      const Vectors contributions = random_contributions(ranks, size, step);
      std::vector<float> expected(size);
      for (std::size_t i = 0; i < size; ++i) expected[i] = reference_mean(contributions, weights, i);
      for (const Result& result : reduce(group, step++, contributions, weights)) {
        REQUIRE(same_bits(result.values, expected));
      }
    }
  }
}

TEST_CASE("a sum of finite values that overflows is not finite, and no rank is named") {
  const Vectors contributions(7, std::vector<float>{1.0F, FLT_MAX});
  const Weights weights = {1, 2, 3, 4, 5, 6, 7};
  // The scales' rounding carries the sum beyond the largest float.
  REQUIRE(std::isinf(reference_mean(contributions, weights, 1)));
  for (const Result& result : reduce(contributions, weights)) {
    REQUIRE_FALSE(result.mean.finite);
    REQUIRE_FALSE(result.mean.non_finite_rank);
  }
}

TEST_CASE("a mismatch is told to every rank, with operation, both ranks and both values") {
  struct Mismatch {
    Call at_rank_1;
    Call at_others;
    std::string one;
    std::string other;
  };
  const std::vector<Mismatch> mismatches = {
      {mean(7, 3), mean(8, 3), "rank 1 came with step 7|rank 1 with step 7", "step 8"},
      {mean(7, 3), mean(7, 4), "rank 1 came with size 3|rank 1 with size 3", "size 4"},
      {mean(7, 3), broadcast(0, 3), "rank 1 came with all_reduce_mean|rank 1 with all_reduce_mean", "broadcast"},
      {broadcast(2, 3), broadcast(0, 3), "rank 1 came with root 2|rank 1 with root 2", "root 0"},
  };
  for (const auto& [at_rank_1, at_others, one, other] : mismatches) {
    const Group group = make_group({.size = 3});
    const Call& odd = at_rank_1;
    const Call& most = at_others;
    const auto errors = run_failing_ranks(group, [&](Communicator& end) { (end.rank() == 1 ? odd : most)(end); });
    for (int rank = 0; rank < 3; ++rank) {
      const auto& error = errors[static_cast<std::size_t>(rank)];
      REQUIRE_FALSE(is_a<AbortedError>(error));
      CHECK_THAT(message(error), Catch::Contains("on rank " + std::to_string(rank)) &&
                                     Catch::Matches(".*(" + one + ").*") &&
                                     Catch::Matches(".*rank [02] (came )?with " + other + ".*"));
    }
  }
}

TEST_CASE("who waited in vain gets a DeadlineError, who comes too late an AbortedError that says why") {
  const Group group = make_group({.size = 2, .deadline = std::chrono::milliseconds(20)});
  REQUIRE_THROWS_AS(mean(7, 3)(*group[0]), DeadlineError);
  REQUIRE_THROWS_AS(mean(7, 3)(*group[1]), AbortedError);
  REQUIRE_THROWS_WITH(group[1]->barrier(), Catch::Contains("rank 1 did not come in time: rank 0 waited 0.0") &&
                                               Catch::Contains("0.020 s is allowed"));
}

TEST_CASE("an error on one rank reaches a rank that waits for something else") {
  const Group group = make_group({.size = 3});
  const auto errors = run_failing_ranks(group, [&](Communicator& end) {
    std::array<std::byte, 4> data{};
    if (end.rank() == 0) return end.receive(1, 5, data);
    if (end.rank() == 1) return end.barrier();
    group[2]->abort("bad shard");
  });
  REQUIRE_THAT(message(errors[0]), Catch::Contains("bad shard"));
  REQUIRE_THAT(message(errors[1]), Catch::Contains("bad shard"));
}

TEST_CASE("a message to a rank that has left is an error; one from it still arrives") {
  Group group = make_group({.size = 2});
  const std::array sent = {std::byte{1}};
  group[1]->send(0, 0, sent);
  group[1].reset();
  std::array received = {std::byte{0}};
  group[0]->receive(1, 0, received);
  REQUIRE(received == sent);
  REQUIRE_THROWS_WITH(group[0]->send(1, 0, sent), Catch::Contains("rank 1 has left the group"));
}

TEST_CASE("receive_any waits as long as any of its ranks is there") {
  Group group = make_group({.size = 3});
  int sender = -1;
  const auto errors = run_failing_ranks(group, [&](Communicator& end) {
    std::array<std::byte, 1> data{};
    if (end.rank() == 0) sender = end.receive_any(std::array{1, 2}, 0, data, end.deadline());
    if (end.rank() == 2) end.send(0, 0, data);
    if (end.rank() == 1) group[1].reset();
  });
  for (const auto& error : errors) REQUIRE(message(error) == "");
  REQUIRE(sender == 2);
}

TEST_CASE("a group that makes no sense is refused") {
  REQUIRE_THROWS_AS(make_in_process_group({.size = 0}), std::invalid_argument);
  REQUIRE_THROWS_AS(make_in_process_group({.size = 1, .results_kept = 0}), std::invalid_argument);
  REQUIRE_THROWS_AS(make_in_process_group({.size = 1, .deadline = Duration::zero()}), std::invalid_argument);
  REQUIRE_THROWS_AS(make_in_process_group({.size = 1, .deadline = Duration::max()}), std::invalid_argument);
}

}  // namespace tandem::comm::test
