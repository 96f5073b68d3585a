#include <signal.h>

#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>

#include "comm/in_process.h"
#include "comm/mean_fixture.h"
#include "comm/message_mean.h"
#include "comm/peer_group_fixture.h"
#include "comm/process_group.h"
#include "comm/reference_mean.h"

// Ranks that are processes, as in a job: this process forks them, and has no threads when it does.
namespace tandem::comm::test {
namespace {

using config::Algorithm;
using config::Codec;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr int kRanks = 4;
constexpr int kVictim = 2;
constexpr seconds kDeadline(4);  // of those that hang
// Waiting for those that cannot be told takes a second; the rest a machine that is starved of time may add.
constexpr double kAtOnce = 13;
constexpr std::size_t kSegment = 2500;

std::unique_ptr<Communicator> make_process_end(Parent& parent, int rank, const std::string& prefix,
                                               Duration deadline = seconds(60), int ranks = kRanks) {
  return make_end(parent, {.rank = rank,
                           .size = ranks,
                           .address = "127.0.0.1",
                           .key_prefix = prefix,
                           .name = std::string("host ") + static_cast<char>('a' + rank),
                           .deadline = deadline});
}

std::string as_text(std::span<const float> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

struct Kind {
  Algorithm algorithm;
  Codec codec;
};

std::vector<Kind> every_kind() {
  std::vector<Kind> kinds = {{Algorithm::native, Codec::none}};
  for (const Algorithm algorithm : {Algorithm::direct, Algorithm::ring}) {
    for (const Codec codec : {Codec::none, Codec::bf16, Codec::int8}) kinds.push_back({algorithm, codec});
  }
  return kinds;
}

std::unique_ptr<Communicator> with_kind(std::unique_ptr<Communicator> end, const Kind& kind) {
  if (kind.algorithm == Algorithm::native) return end;
  return with_message_mean(std::move(end),
                           {.algorithm = kind.algorithm, .codec = kind.codec, .segment_values = kSegment});
}

/// The mean of the last of a few calls, so that what a codec keeps is in it.
std::string mean_of_calls(Communicator& end, std::size_t size) {
  std::string bits;
  for (Step step = 0; step < 3; ++step) {
    const auto values = random_values(size, Catch::rngSeed(), end.rank(), step);
    bits = as_text(end.all_reduce_mean({step, values, 1.0 + end.rank()}).values);
  }
  return bits;
}

std::string in_process_mean(const Kind& kind, std::size_t size) {
  Group group = make_in_process_group({.size = kRanks});
  std::vector<std::string> means(group.size());
  for (auto& end : group) end = with_kind(std::move(end), kind);
  run_ranks(group, [&](Communicator& end) { means[index(end.rank())] = mean_of_calls(end, size); });
  return means.front();
}

/// Reduces vectors of a few megabytes forever, and reports once in the middle, and the error in the end.
void reduce_until_error(Communicator& end, Parent& parent) {
  const std::vector<float> values(1'000'000, 1.0F);
  try {
    for (Step step = 0;; ++step) {
      (void)end.all_reduce_mean({step, values, 1.0});
      if (step == 5) parent.report("under way");
    }
  } catch (const CommError& error) {
    parent.report(error.what());
  }
}

void await_all_under_way(ProcessGroup& processes) {
  for (int rank = 0; rank < kRanks; ++rank) REQUIRE(processes.await_report(rank) == "under way");
}

double seconds_since(steady_clock::time_point begin) {
  return std::chrono::duration<double>(steady_clock::now() - begin).count();
}

}  // namespace

TEST_CASE("processes get the means that threads of one process get, bit for bit, with every algorithm and codec") {
  constexpr std::size_t kSize = 20'011;
  const std::vector<Kind> kinds = every_kind();
  ProcessGroup processes(kRanks, [&](int rank, Parent& parent) {
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      const auto end = with_kind(make_process_end(parent, rank, "kind" + std::to_string(i)), kinds[i]);
      parent.report(mean_of_calls(*end, kSize));
    }
  });
  CAPTURE(Catch::rngSeed());
  std::vector<std::vector<std::string>> means(kinds.size());
  for (auto& of_kind : means) {
    for (int rank = 0; rank < kRanks; ++rank) of_kind.push_back(processes.await_report(rank));
  }
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    CAPTURE(name(kinds[i].algorithm), name(kinds[i].codec));
    const std::string expected = in_process_mean(kinds[i], kSize);
    for (const std::string& mean : means[i]) REQUIRE((mean == expected));  // not bytes in the report
  }
}

TEST_CASE("messages, broadcasts and barriers reach other processes, in order") {
  constexpr int kMessages = 200;
  ProcessGroup processes(kRanks, [](int rank, Parent& parent) {
    const auto end = make_process_end(parent, rank, "messages");
    for (int i = 0; i < kMessages; ++i) end->send((rank + 1) % kRanks, 5, std::as_bytes(std::span(&i, 1)));
    bool right = true;
    for (int i = 0; i < kMessages; ++i) {
      int number = -1;
      end->receive((rank + kRanks - 1) % kRanks, 5, std::as_writable_bytes(std::span(&number, 1)));
      right = right && number == i;
    }
    std::vector<int> weights(300'000, rank);
    end->broadcast(1, std::as_writable_bytes(std::span(weights)));
    end->barrier();
    parent.report(right && weights == std::vector<int>(weights.size(), 1) ? "right" : "wrong");
  });
  for (int rank = 0; rank < kRanks; ++rank) REQUIRE(processes.await_report(rank) == "right");
}

TEST_CASE("when a process is killed in an exchange, the others' errors name it within seconds") {
  for (int round = 0; round < 5; ++round) {
    ProcessGroup processes(kRanks, [](int rank, Parent& parent) {
      reduce_until_error(*make_process_end(parent, rank, "killed"), parent);
    });
    await_all_under_way(processes);
    processes.signal(kVictim, SIGKILL);
    const auto begin = steady_clock::now();
    for (int rank = 0; rank < kRanks; ++rank) {
      if (rank == kVictim) continue;
      CHECK_THAT(processes.await_report(rank),
                 Catch::Matches("all_reduce_mean of step [0-9]+ on rank " + std::to_string(rank) + ".*") &&
                     Catch::Contains("the connection with rank 2 (host c) is lost"));
    }
    REQUIRE(seconds_since(begin) < kAtOnce);
  }
}

TEST_CASE("a process that was killed while the others computed ends their next call at once") {
  ProcessGroup processes(kRanks, [](int rank, Parent& parent) {
    const auto end = make_process_end(parent, rank, "killed");
    end->barrier();
    parent.report("under way");
    if (rank == kVictim) (void)parent.get("never", steady_clock::now() + std::chrono::hours(1));
    (void)parent.get("go on", steady_clock::now() + seconds(60));
    end->barrier();
  });
  await_all_under_way(processes);
  processes.signal(kVictim, SIGKILL);
  const auto begin = steady_clock::now();
  processes.set("go on", "now");
  for (int rank = 0; rank < kRanks; ++rank) {
    if (rank == kVictim) continue;
    CHECK_THAT(processes.await_report(rank), Catch::StartsWith("barrier on rank " + std::to_string(rank)) &&
                                                 Catch::Contains("the connection with rank 2 (host c) is lost"));
  }
  REQUIRE(seconds_since(begin) < kAtOnce);
}

TEST_CASE("when a process hangs, the others' errors name it at the deadline") {
  ProcessGroup processes(kRanks, [](int rank, Parent& parent) {
    reduce_until_error(*make_process_end(parent, rank, "stopped", kDeadline), parent);
  });
  await_all_under_way(processes);
  processes.signal(kVictim, SIGSTOP);
  const auto begin = steady_clock::now();
  for (int rank = 0; rank < kRanks; ++rank) {
    if (rank == kVictim) continue;
    CHECK_THAT(processes.await_report(rank),
               Catch::Matches("all_reduce_mean of step [0-9]+ on rank " + std::to_string(rank) + ".*") &&
                   Catch::Contains("rank 2 (host c) sent nothing in time"));
  }
  // Some may have waited for a moment already.
  REQUIRE(seconds_since(begin) > kDeadline.count() / 2.0);
  REQUIRE(seconds_since(begin) < kDeadline.count() + kAtOnce);
}

TEST_CASE("an abort reaches other processes, with its reason") {
  ProcessGroup processes(kRanks, [](int rank, Parent& parent) {
    const auto end = make_process_end(parent, rank, "aborted");
    end->barrier();
    if (rank == kVictim) return end->abort("bad shard on rank 2");
    end->barrier();
  });
  for (int rank = 0; rank < kRanks; ++rank) {
    if (rank == kVictim) continue;
    CHECK_THAT(processes.await_report(rank), Catch::Contains("the group was aborted: bad shard on rank 2"));
  }
}

TEST_CASE("two jobs at once on one host do not disturb each other") {
  constexpr int kRanksOfJob = 3;
  constexpr std::size_t kSize = 50'000;
  ProcessGroup processes(2 * kRanksOfJob, [](int number, Parent& parent) {
    const int job = number / kRanksOfJob;
    const auto end =
        make_process_end(parent, number % kRanksOfJob, "job" + std::to_string(job), seconds(60), kRanksOfJob);
    for (Step step = 0; step < 20; ++step) {
      const std::vector<float> values(kSize, static_cast<float>(100 * job + step));
      const Mean mean = end->all_reduce_mean({step, values, 1.0});
      for (const float value : mean.values) {
        if (std::abs(value - values.front()) > 1e-4F) return parent.report("wrong");
      }
    }
    parent.report("right");
  });
  for (int number = 0; number < 2 * kRanksOfJob; ++number) REQUIRE(processes.await_report(number) == "right");
}

}  // namespace tandem::comm::test
