#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <new>
#include <utility>

#include "comm/codec.h"
#include "comm/contract.h"
#include "comm/forwarding_communicator.h"
#include "comm/in_process.h"
#include "comm/mean_fixture.h"
#include "comm/message_mean.h"
#include "comm/tags.h"
#include "comm/wire.h"

// What an exchange costs: bytes, messages, memory and the codec's time.

namespace {

/// Allocations of this thread since it was told to count.
thread_local bool counts_allocations = false;
thread_local int allocations = 0;

}  // namespace

void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  if (counts_allocations) ++allocations;
  return std::malloc(std::max<std::size_t>(size, 1));
}
void* operator new(std::size_t size) {
  if (void* memory = operator new(size, std::nothrow)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }

namespace tandem::comm::test {
namespace {

using config::Algorithm;
using config::Codec;

struct Sent {
  std::size_t messages = 0;
  std::size_t bytes = 0;
};

/// Counts what a rank sends, by tag. What the communicator below does with memory is not counted.
class Counting : public ForwardingCommunicator {
 public:
  using ForwardingCommunicator::ForwardingCommunicator;

  void send(int to, std::uint32_t tag, std::span<const std::byte> data) override {
    Sent& sent = sent_[tag - static_cast<std::uint32_t>(Tag::first)];
    ++sent.messages;
    sent.bytes += data.size();
    uncounted([&] { ForwardingCommunicator::send(to, tag, data); });
  }
  void receive(int from, std::uint32_t tag, std::span<std::byte> data) override {
    uncounted([&] { ForwardingCommunicator::receive(from, tag, data); });
  }
  int receive_any(std::span<const int> from, std::uint32_t tag, std::span<std::byte> data, Duration limit) override {
    int sender = -1;
    uncounted([&] { sender = ForwardingCommunicator::receive_any(from, tag, data, limit); });
    return sender;
  }

  void send_together(int to, std::span<const Message> messages) override {
    ++together_;
    ForwardingCommunicator::send_together(to, messages);
  }

  std::size_t together() const { return together_; }
  Sent sent(Tag tag) const { return sent_.at(static_cast<std::size_t>(tag) - static_cast<std::size_t>(Tag::first)); }

 private:
  template <typename Body>
  static void uncounted(const Body& body) {
    const bool before = std::exchange(counts_allocations, false);
    body();
    counts_allocations = before;
  }

  std::array<Sent, 4> sent_{};
  std::size_t together_ = 0;
};

struct CountedGroup {
  CountedGroup(int ranks, const MessageMeanOptions& options) : group(make_in_process_group({.size = ranks})) {
    for (auto& end : group) {
      auto counting = std::make_unique<Counting>(std::move(end));
      counters.push_back(counting.get());
      end = with_message_mean(std::move(counting), options);
    }
  }

  Group group;
  std::vector<const Counting*> counters;
};

}  // namespace

TEST_CASE("a rank sends 2 (p-1)/p of the vector as encoded, and headers") {
  const Algorithm algorithm = GENERATE(Algorithm::direct, Algorithm::ring);
  const Codec codec = GENERATE(Codec::none, Codec::bf16, Codec::int8);
  constexpr std::size_t kSegment = 4096;
  constexpr std::size_t kSegments = 5;  // a share
  const int ranks = GENERATE(2, 4, 5);
  const std::size_t others = index(ranks) - 1;
  const std::size_t size = index(ranks) * kSegments * kSegment;
  const CountedGroup counted(ranks, {.algorithm = algorithm, .codec = codec, .segment_values = kSegment});
  reduce(counted.group, 0, random_contributions(ranks, size, 0), Weights(index(ranks), 1.0));

  const Tag first_half = algorithm == Algorithm::direct ? Tag::contribution : Tag::partial_sum;
  const std::size_t share_bytes = encoded_size(codec, kSegments * kSegment) + kSegments * sizeof(SegmentHeader);
  CAPTURE(name(algorithm), name(codec), ranks);
  for (const Counting* counter : counted.counters) {
    REQUIRE(counter->sent(Tag::call).messages == others);
    REQUIRE(counter->sent(Tag::call).bytes == others * sizeof(CallHeader));
    for (const Tag tag : {first_half, Tag::mean}) {
      REQUIRE(counter->sent(tag).messages == others * kSegments);
      REQUIRE(counter->sent(tag).bytes == others * share_bytes);
    }
  }
  // With int8, about a quarter of float32.
  if (codec == Codec::int8) REQUIRE(static_cast<double>(share_bytes) < 1.007 * kSegments * kSegment);
}

TEST_CASE("a rank without samples sends no contribution in direct, and nobody does if none has any") {
  const CountedGroup counted(3, {.codec = Codec::int8, .whole_values = 0});
  const Vectors contributions = random_contributions(3, 3000, 0);
  reduce(counted.group, 0, contributions, {1, 0, 1});
  REQUIRE(counted.counters[0]->sent(Tag::contribution).messages == 2);
  REQUIRE(counted.counters[1]->sent(Tag::contribution).messages == 0);
  reduce(counted.group, 1, contributions, {0, 0, 0});
  REQUIRE(counted.counters[0]->sent(Tag::contribution).messages == 2);
  REQUIRE(counted.counters[1]->sent(Tag::mean).messages == 2);
}

TEST_CASE("a rank sends a short vector to each other rank once, with the announcement of the call, and no mean") {
  const CountedGroup counted(3, {.segment_values = 3000, .whole_values = 6000});
  reduce(counted.group, 0, random_contributions(3, 3000, 0), {1, 0, 1});
  const std::array<std::size_t, 3> sent = {2, 0, 2};
  for (std::size_t rank = 0; rank < 3; ++rank) {
    REQUIRE(counted.counters[rank]->sent(Tag::call).messages == 2);
    REQUIRE(counted.counters[rank]->sent(Tag::contribution).messages == sent[rank]);
    REQUIRE(counted.counters[rank]->sent(Tag::mean).messages == 0);
    REQUIRE(counted.counters[rank]->together() == sent[rank]);
  }
  reduce(counted.group, 1, random_contributions(3, 3001, 0), {1, 1, 1});
  REQUIRE(counted.counters[0]->sent(Tag::mean).messages == 2);
}

TEST_CASE("once vectors of a size have been exchanged, no call allocates") {
  const Algorithm algorithm = GENERATE(Algorithm::direct, Algorithm::ring);
  const Codec codec = GENERATE(Codec::none, Codec::bf16, Codec::int8);
  const std::size_t segment_values = GENERATE(as<std::size_t>{}, 1000, 65536);  // of several segments, or short
  const CountedGroup counted(
      3, {.algorithm = algorithm, .codec = codec, .results_kept = 2, .segment_values = segment_values});
  const Vectors contributions = random_contributions(3, 10'000, 0);
  std::array<int, 3> warm_up{};
  std::array<int, 3> later{};
  run_ranks(counted.group, [&](Communicator& end) {
    const std::size_t rank = index(end.rank());
    counts_allocations = true;
    for (Step step = 0; step < 2; ++step) (void)end.all_reduce_mean({step, contributions[rank], 1.0});
    warm_up[rank] = std::exchange(allocations, 0);
    for (Step step = 2; step < 20; ++step) {
      const std::span<const float> values = std::span(contributions[rank]).first(step % 3 == 0 ? 5000 : 10'000);
      (void)end.all_reduce_mean({step, values, step % 5 == 0 ? 0.0 : 1.0});
    }
    counts_allocations = false;
    later[rank] = allocations;
  });
  CAPTURE(name(algorithm), name(codec), segment_values);
  for (const int count : warm_up) REQUIRE(count > 0);
  REQUIRE(later == std::array{0, 0, 0});
}

TEST_CASE("a mean tells how long its codec took, and zero without one") {
  const Algorithm algorithm = GENERATE(Algorithm::direct, Algorithm::ring);
  for (const Codec codec : {Codec::none, Codec::bf16, Codec::int8}) {
    CAPTURE(name(algorithm), name(codec));
    const CountedGroup counted(2, {.algorithm = algorithm, .codec = codec});
    const auto begin = std::chrono::steady_clock::now();
    const auto results = reduce(counted.group, 0, random_contributions(2, 100'000, 0), {1, 1});
    const Duration elapsed = std::chrono::steady_clock::now() - begin;
    for (const Result& result : results) {
      const bool coded = codec != Codec::none;
      REQUIRE((result.mean.encoding > Duration::zero()) == coded);
      REQUIRE((result.mean.decoding > Duration::zero()) == coded);
      REQUIRE(result.mean.encoding + result.mean.decoding <= elapsed);
    }
  }
}

}  // namespace tandem::comm::test
