#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>

#include "comm/contract.h"
#include "comm/forwarding_communicator.h"
#include "comm/in_process.h"
#include "comm/message_mean.h"

namespace tandem::comm::test {
namespace {

using config::Algorithm;
using config::Codec;

const std::vector<float> kValues(100, 1.0F);

Group make_group(const std::vector<MessageMeanOptions>& options, Duration deadline = std::chrono::minutes(2)) {
  Group group = make_in_process_group({.size = static_cast<int>(options.size()), .deadline = deadline});
  for (std::size_t rank = 0; rank < group.size(); ++rank) {
    group[rank] = with_message_mean(std::move(group[rank]), options[rank]);
  }
  return group;
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

TEST_CASE("options out of range are refused") {
  const auto make = [](const MessageMeanOptions& options) {
    return with_message_mean(std::move(make_in_process_group({}).front()), options);
  };
  REQUIRE_NOTHROW(make({}));
  REQUIRE_THROWS_AS(make({.algorithm = Algorithm::native}), std::invalid_argument);
  REQUIRE_THROWS_AS(make({.results_kept = 0}), std::invalid_argument);
  REQUIRE_THROWS_AS(make({.segment_values = 0}), std::invalid_argument);
}

TEST_CASE("ranks with different settings all fail, with both ranks and both values") {
  const MessageMeanOptions usual = {.codec = Codec::int8};
  struct Odd {
    MessageMeanOptions options;
    std::string of_odd;
    std::string of_usual;
  };
  const std::vector<Odd> odds = {
      {{.algorithm = Algorithm::ring, .codec = Codec::int8}, "algorithm ring", "algorithm direct"},
      {{.codec = Codec::bf16}, "codec bf16", "codec int8"},
      {{.codec = Codec::int8, .segment_values = 1024}, "segments of 1024", "segments of 65536"},
  };
  for (const auto& [options, of_odd, of_usual] : odds) {
    CAPTURE(of_odd);
    const Group group = make_group({usual, options, usual});
    const auto errors = run_failing_ranks(group, [](Communicator& end) {
      (void)end.all_reduce_mean({7, kValues, 1.0});
    });
    for (int rank = 0; rank < 3; ++rank) {
      const auto& error = errors[index(rank)];
      REQUIRE(is_a<CommError>(error));
      REQUIRE_FALSE(is_a<DeadlineError>(error));
      CHECK_THAT(message(error), Catch::Contains("all_reduce_mean of step 7 on rank " + std::to_string(rank)) &&
                                     Catch::Matches(".*rank 1 (came )?with " + of_odd + ".*") &&
                                     Catch::Matches(".*rank [02] (came )?with " + of_usual + ".*"));
    }
  }
}

TEST_CASE("who did not come is named, all of them, with the step that is waited for") {
  const Group group = make_group(std::vector<MessageMeanOptions>(4), std::chrono::milliseconds(50));
  const auto errors = run_failing_ranks(group, [](Communicator& end) {
    if (end.rank() == 2) (void)end.all_reduce_mean({7, kValues, 1.0});
  });
  REQUIRE(is_a<DeadlineError>(errors[2]));
  CHECK_THAT(message(errors[2]), Catch::Contains("all_reduce_mean of step 7 on rank 2") &&
                                     Catch::Contains("ranks 0, 1, 3 sent nothing in time") &&
                                     Catch::Contains("0.050 s is allowed"));
}

TEST_CASE("a rank that fails in the middle of an exchange ends it on all, with its reason") {
  const Algorithm algorithm = GENERATE(Algorithm::direct, Algorithm::ring);
  for (int sends = 0; sends < 10; ++sends) {
    CAPTURE(name(algorithm), sends);
    Group group = make_in_process_group({.size = 3});
    for (auto& end : group) {
      if (end->rank() == 1) end = std::make_unique<RunsOut>(std::move(end), sends);
      end = with_message_mean(std::move(end), {.algorithm = algorithm, .codec = Codec::bf16, .segment_values = 16});
    }
    const auto errors = run_failing_ranks(group, [](Communicator& end) {
      (void)end.all_reduce_mean({7, kValues, 1.0});
    });
    REQUIRE_FALSE(is_a<AbortedError>(errors[1]));
    for (int rank = 0; rank < 3; ++rank) {
      REQUIRE(is_a<CommError>(errors[index(rank)]));
      CHECK_THAT(message(errors[index(rank)]),
                 Catch::StartsWith("all_reduce_mean of step 7 on rank " + std::to_string(rank)) &&
                     Catch::Contains("step 7 on rank 1: the shelf is empty"));
    }
  }
}

}  // namespace tandem::comm::test
