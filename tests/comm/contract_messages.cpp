#include <algorithm>
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <set>

#include "comm/contract.h"

namespace tandem::comm::test {
namespace {

std::vector<std::byte> pattern(std::size_t size, int seed) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 31 + i / 256 + index(seed));
  return bytes;
}

/// Compared in one piece: a sanitizer looks at each byte that a loop reads.
bool same_bytes(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

void send_number(Communicator& end, int to, std::uint32_t tag, int number) {
  end.send(to, tag, std::as_bytes(std::span(&number, 1)));
}

int receive_number(Communicator& end, int from, std::uint32_t tag) {
  int number = -1;
  end.receive(from, tag, std::as_writable_bytes(std::span(&number, 1)));
  return number;
}

/// A mean may be as far from the exact one as its implementation says.
bool is_near(int exact, float mean, int ranks) {
  return std::abs(mean - static_cast<double>(exact)) <= mean_tolerance(ranks) * FLT_EPSILON * exact;
}

}  // namespace

TEST_CASE("broadcast brings every root's bytes to all ranks") {
  const int ranks = GENERATE(1, 2, 3, 5, 13, 16);
  const std::size_t size = GENERATE(as<std::size_t>{}, 0U, 1U, 4099U, large_size());
  const Group group = make_group({.size = ranks});
  std::vector<std::vector<std::byte>> sent;
  for (int root = 0; root < ranks; ++root) sent.push_back(pattern(size, root));
  std::vector<std::vector<bool>> right(index(ranks));
  run_ranks(group, [&](Communicator& end) {
    std::vector<std::byte> data(size);
    for (int root = 0; root < ranks; ++root) {
      if (end.rank() == root) data = sent[index(root)];
      end.broadcast(root, data);
      right[index(end.rank())].push_back(same_bytes(data, sent[index(root)]));
    }
  });
  CAPTURE(ranks, size);
  for (const auto& of_rank : right) REQUIRE(of_rank == std::vector<bool>(index(ranks), true));
}

TEST_CASE("nobody leaves a barrier before all have come") {
  const int ranks = GENERATE(1, 2, 3, 5, 13, 16);
  constexpr int kRounds = 50;
  const Group group = make_group({.size = ranks});
  std::atomic<int> came = 0;
  std::vector<int> early(index(ranks), 0);
  run_ranks(group, [&](Communicator& end) {
    for (int round = 1; round <= kRounds; ++round) {
      ++came;
      end.barrier();
      if (came < round * ranks) ++early[index(end.rank())];
    }
  });
  REQUIRE(early == std::vector<int>(index(ranks), 0));
}

TEST_CASE("messages that are sent together arrive as if sent one by one, whatever their lengths, also at oneself") {
  const std::vector<std::vector<std::size_t>> all_sizes = {{},
                                                           {0},
                                                           {40, 31'000},
                                                           {40, 0, large_size(), 3, 4096, 4097, 0},
                                                           {large_size(), large_size(), 1},
                                                           std::vector<std::size_t>(200, 4096)};
  const Group group = make_group({.size = 2});
  std::vector<std::vector<bool>> right(2);
  run_ranks(group, [&](Communicator& end) {
    for (const std::vector<std::size_t>& sizes : all_sizes) {
      std::vector<std::vector<std::byte>> data;
      for (const std::size_t size : sizes) data.push_back(pattern(size, static_cast<int>(data.size())));
      std::vector<Message> messages;
      for (const auto& bytes : data) messages.push_back({static_cast<std::uint32_t>(messages.size() % 3), bytes});
      for (const int to : {0, 1}) end.send_together(to, messages);
      for (const int from : {0, 1}) {
        // Of one tag in order, but the tags from the last to the first.
        for (std::size_t tag = 3; tag-- > 0;) {
          for (std::size_t i = tag; i < data.size(); i += 3) {
            std::vector<std::byte> received(data[i].size());
            end.receive(from, static_cast<std::uint32_t>(tag), received);
            right[index(end.rank())].push_back(same_bytes(received, data[i]));
          }
        }
      }
    }
  });
  std::size_t count = 0;
  for (const auto& sizes : all_sizes) count += 2 * sizes.size();
  for (const auto& of_rank : right) REQUIRE(of_rank == std::vector<bool>(count, true));
}

TEST_CASE("messages of one tag arrive in order, whatever other tags do") {
  const int ranks = GENERATE(2, 3, 5, 13);
  constexpr int kMessages = 40;
  const Group group = make_group({.size = ranks});
  std::vector<std::vector<int>> received(index(ranks));
  run_ranks(group, [&](Communicator& end) {
    const int next = (end.rank() + 1) % ranks;
    const int previous = (end.rank() + ranks - 1) % ranks;
    for (int i = 0; i < kMessages; ++i) {
      send_number(end, next, 1, i);
      send_number(end, next, 2, 1000 + i);
    }
    for (const std::uint32_t tag : {2, 1}) {
      for (int i = 0; i < kMessages; ++i) received[index(end.rank())].push_back(receive_number(end, previous, tag));
    }
  });
  std::vector<int> expected(2 * kMessages);
  std::iota(expected.begin(), expected.begin() + kMessages, 1000);
  std::iota(expected.begin() + kMessages, expected.end(), 0);
  for (const auto& of_rank : received) REQUIRE(of_rank == expected);
}

TEST_CASE("a sender may reuse its memory at once, for messages of any size") {
  const std::size_t size = GENERATE(0U, 1U, 4099U, 3'000'001U);
  const Group group = make_group({.size = 2});
  std::vector<std::byte> received(size);
  run_ranks(group, [&](Communicator& end) {
    if (end.rank() == 1) return end.receive(0, 9, received);
    std::vector<std::byte> data = pattern(size, 5);
    end.send(1, 9, data);
    std::ranges::fill(data, std::byte{0});
  });
  REQUIRE(received == pattern(size, 5));
}

TEST_CASE("all ranks may send to each other before any receives, and each to itself") {
  const int ranks = GENERATE(1, 3, 5);
  const Group group = make_group({.size = ranks});
  std::vector<std::vector<int>> received(index(ranks));
  run_ranks(group, [&](Communicator& end) {
    for (int to = 0; to < ranks; ++to) send_number(end, to, 0, 100 * end.rank() + to);
    for (int from = 0; from < ranks; ++from) received[index(end.rank())].push_back(receive_number(end, from, 0));
  });
  for (int rank = 0; rank < ranks; ++rank) {
    for (int from = 0; from < ranks; ++from) REQUIRE(received[index(rank)][index(from)] == 100 * from + rank);
  }
}

TEST_CASE("receive_any takes each sender's message once and says whose it is") {
  const int ranks = GENERATE(2, 5, 13);
  const Group group = make_group({.size = ranks});
  std::vector<int> senders;
  std::vector<int> numbers;
  run_ranks(group, [&](Communicator& end) {
    if (end.rank() != 0) return send_number(end, 0, 3, 10 * end.rank());
    std::vector<int> others(index(ranks - 1));
    std::iota(others.begin(), others.end(), 1);
    for (int i = 1; i < ranks; ++i) {
      int number = -1;
      senders.push_back(end.receive_any(others, 3, std::as_writable_bytes(std::span(&number, 1)), end.deadline()));
      numbers.push_back(number);
    }
  });
  for (std::size_t i = 0; i < senders.size(); ++i) REQUIRE(numbers[i] == 10 * senders[i]);
  REQUIRE(std::set<int>(senders.begin(), senders.end()).size() == index(ranks - 1));
}

TEST_CASE("receive_any leaves messages of other ranks and tags alone") {
  const Group group = make_group({.size = 4});
  int sender = -1;
  std::array<int, 3> numbers{};
  run_ranks(group, [&](Communicator& end) {
    if (end.rank() == 3) send_number(end, 0, 1, 33);
    if (end.rank() == 2) {
      send_number(end, 0, 2, 22);
      send_number(end, 0, 1, 23);
    }
    end.barrier();  // all these are there when rank 0 looks
    if (end.rank() != 0) return;
    sender = end.receive_any(std::array{1, 2}, 1, std::as_writable_bytes(std::span(numbers).first(1)), end.deadline());
    numbers[1] = receive_number(end, 2, 2);
    numbers[2] = receive_number(end, 3, 1);
  });
  REQUIRE(sender == 2);
  REQUIRE(numbers == std::array{23, 22, 33});
}

TEST_CASE("any sequence of operations works on one group") {
  const int ranks = GENERATE(2, 4, 7);
  const Group group = make_group({.size = ranks});
  std::vector<int> wrong(index(ranks), 0);
  run_ranks(group, [&](Communicator& end) {
    const auto check = [&](bool right) { wrong[index(end.rank())] += right ? 0 : 1; };
    std::mt19937 random(Catch::rngSeed());  // the same on all ranks
    for (int i = 0; i < 300; ++i) {
      const int chosen = static_cast<int>(random() % index(ranks));
      std::array numbers = {end.rank() == chosen ? i : -1};
      const std::array values = {end.rank() == chosen ? static_cast<float>(i) : 0.0F};
      switch (random() % 4) {
        case 0:
          end.broadcast(chosen, std::as_writable_bytes(std::span(numbers)));
          check(numbers[0] == i);
          break;
        case 1:
          end.barrier();
          break;
        case 2:
          check(is_near(i, end.all_reduce_mean({i, values, end.rank() == chosen ? 1.0 : 0.0}).values[0], ranks));
          break;
        default:
          send_number(end, (end.rank() + chosen) % ranks, 8, i);
          check(receive_number(end, (end.rank() + ranks - chosen) % ranks, 8) == i);
      }
    }
  });
  CAPTURE(ranks, Catch::rngSeed());
  REQUIRE(wrong == std::vector<int>(index(ranks), 0));
}

TEST_CASE("a message of another length than expected is an error that names both") {
  const Group group = make_group({.size = 2});
  const auto errors = run_failing_ranks(group, [&](Communicator& end) {
    if (end.rank() == 1) return end.send(0, 4, pattern(10, 0));
    std::vector<std::byte> data(8);
    end.receive(1, 4, data);
  });
  REQUIRE(is_a<CommError>(errors[0]));
  REQUIRE_FALSE(is_a<AbortedError>(errors[0]));
  CHECK_THAT(message(errors[0]), Catch::Contains("receive") && Catch::Contains("10") && Catch::Contains("8"));
  REQUIRE_THROWS_AS(group[1]->send(0, 4, pattern(8, 0)), AbortedError);
}

TEST_CASE("ranks that do not exist are refused, and the group lives on") {
  const Group group = make_group({.size = 2});
  std::vector<std::byte> data(4);
  for (const int rank : {-1, 2}) {
    REQUIRE_THROWS_AS(group[0]->broadcast(rank, data), std::invalid_argument);
    REQUIRE_THROWS_AS(group[0]->send(rank, 0, data), std::invalid_argument);
    REQUIRE_THROWS_AS(group[0]->receive(rank, 0, data), std::invalid_argument);
    REQUIRE_THROWS_AS(group[0]->receive_any(std::array{1, rank}, 0, data, group[0]->deadline()), std::invalid_argument);
  }
  REQUIRE_THROWS_AS(group[0]->receive_any({}, 0, data, group[0]->deadline()), std::invalid_argument);
  run_ranks(group, [](Communicator& end) { end.barrier(); });
}

}  // namespace tandem::comm::test
