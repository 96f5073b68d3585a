#include <catch2/catch.hpp>
#include <deque>
#include <random>

#include "comm/control/clock_offset.h"
#include "comm/control/complaints.h"
#include "comm/control/delivery.h"
#include "comm/control/handshake_failures.h"
#include "comm/control/presence.h"

namespace tandem::comm::control {
namespace {

Delivery::Message message_of(std::size_t size) { return Delivery::Message(size, std::byte{7}); }

TEST_CASE("messages are numbered, kept until they are acknowledged, and sent again after a resumption") {
  Delivery delivery("host7", 10'000);
  for (int i = 0; i < 3; ++i) delivery.push(message_of(10));
  for (std::uint64_t number = 1; number <= 3; ++number) CHECK(delivery.next_to_send()->sequence == number);
  CHECK_FALSE(delivery.next_to_send());
  CHECK_FALSE(delivery.acknowledge(1));
  CHECK_FALSE(delivery.all_acknowledged());
  CHECK_FALSE(delivery.resume(2));
  CHECK(delivery.next_to_send()->sequence == 3);
  CHECK_FALSE(delivery.acknowledge(3));
  CHECK(delivery.all_acknowledged());
}

TEST_CASE("what is under way is limited, and goes on with each acknowledgment, also after a resumption") {
  constexpr std::size_t fit = 4;
  Delivery delivery("host7", 10 * Delivery::most_under_way);
  for (int i = 0; i < 10; ++i) {
    delivery.push(message_of(Delivery::most_under_way / fit - Delivery::message_overhead));
  }
  const auto send_all = [&] {
    while (delivery.next_to_send()) {
    }
    return delivery.sent();
  };
  CHECK(send_all() == fit);
  CHECK_FALSE(delivery.acknowledge(1));
  CHECK(send_all() == fit + 1);
  CHECK_FALSE(delivery.resume(2));
  CHECK(delivery.sent() == 2);
  CHECK(send_all() == fit + 2);
  CHECK_FALSE(delivery.acknowledge(6));
  CHECK(send_all() == 10);
  CHECK_FALSE(delivery.acknowledge(10));
  CHECK(delivery.all_acknowledged());
}

TEST_CASE("an acknowledgment that cannot be is told of with both numbers") {
  Delivery delivery("host7", 10'000);
  for (int i = 0; i < 5; ++i) delivery.push(message_of(1));
  for (int i = 0; i < 4; ++i) delivery.next_to_send();
  CHECK(delivery.acknowledge(5) == "acknowledged data 5 where only 4 were sent");
  CHECK_FALSE(delivery.acknowledge(3));
  CHECK_FALSE(delivery.acknowledge(2));
  CHECK(delivery.acknowledged() == 3);
  CHECK(delivery.resume(2) == "resumes after data 2 where it had acknowledged data 3");
}

TEST_CASE("a gap is told of with both numbers") {
  Delivery delivery("host7", 100);
  CHECK(delivery.arrive(1) == Delivery::Arrival::next);
  CHECK(delivery.arrive(1) == Delivery::Arrival::duplicate);
  CHECK(delivery.arrive(4) == Delivery::Arrival::gap);
  CHECK(delivery.gap_text(4) == "data 2 was due, data 4 came");
  CHECK(delivery.arrive(2) == Delivery::Arrival::next);
}

TEST_CASE("what is not acknowledged is bounded, and nothing is lost by that") {
  Delivery delivery("host7", 10 * (100 + Delivery::message_overhead));
  for (int i = 0; i < 10; ++i) delivery.push(message_of(100));
  CHECK_THROWS_AS(delivery.push(message_of(0)), BacklogError);
  CHECK_THROWS_WITH(delivery.push(message_of(0)),
                    "send to host7: it has not acknowledged 1640 bytes in 10 messages, and with 64 more they would "
                    "exceed the 1640 that are allowed");
  for (int i = 0; i < 10; ++i) CHECK(delivery.next_to_send()->message == message_of(100));
  CHECK_FALSE(delivery.acknowledge(1));
  delivery.push(message_of(100));
  CHECK(delivery.next_to_send()->sequence == 11);
}

// The naive model: everything that was ever sent, and how far the other side has come.
TEST_CASE("delivery over connections that are cut at random agrees with a model") {
  std::mt19937_64 random(Catch::rngSeed());
  Delivery sender("receiver", std::size_t{1} << 20), receiver("sender", 0);
  std::vector<Delivery::Message> pushed, arrived;
  std::deque<std::pair<std::uint64_t, Delivery::Message>> wire;
  std::deque<std::uint64_t> acknowledgments;
  for (int i = 0; i < 20'000; ++i) {
    switch (random() % 8) {
      case 0:
      case 1:
        pushed.push_back(message_of(random() % 50));
        sender.push(pushed.back());
        break;
      case 2:
      case 3:
        if (const auto next = sender.next_to_send()) wire.emplace_back(next->sequence, next->message);
        break;
      case 4:
      case 5:
        if (wire.empty()) break;
        REQUIRE(receiver.arrive(wire.front().first) == Delivery::Arrival::next);
        arrived.push_back(wire.front().second);
        wire.pop_front();
        acknowledgments.push_back(receiver.taken());
        break;
      case 6:
        if (acknowledgments.empty()) break;
        REQUIRE_FALSE(sender.acknowledge(acknowledgments.front()));
        acknowledgments.pop_front();
        break;
      default:
        if (random() % 20 != 0) break;
        wire.clear();
        acknowledgments.clear();
        REQUIRE_FALSE(sender.resume(receiver.taken()));
    }
    REQUIRE(arrived.size() == receiver.taken());
    REQUIRE(sender.acknowledged() <= receiver.taken());
    REQUIRE(receiver.taken() <= pushed.size());
  }
  REQUIRE_FALSE(sender.resume(receiver.taken()));
  while (const auto next = sender.next_to_send()) {
    REQUIRE(receiver.arrive(next->sequence) == Delivery::Arrival::next);
    arrived.push_back(next->message);
  }
  CHECK(arrived == pushed);
}

TEST_CASE("the clock offset of equal ways is exact, and off by no more than it says on others") {
  std::mt19937_64 random(Catch::rngSeed());
  const Time ahead = Time(static_cast<std::int64_t>(random() % 2'000'000'000'000) - 1'000'000'000'000);
  const bool equal_ways = GENERATE(true, false);
  ClockOffset offset;
  CHECK_FALSE(offset.estimate());
  Time now = 100s;
  for (int i = 0; i < 200; ++i) {
    const Time there(static_cast<std::int64_t>(random() % 50'000'000)),
        dwell(static_cast<std::int64_t>(random() % 500'000'000));
    const Time back = equal_ways ? there : Time(static_cast<std::int64_t>(random() % 50'000'000));
    const RoundTrip trip{now, now + there + ahead, now + there + dwell + ahead, now + there + dwell + back};
    offset.add(trip);
    const Offset estimate = *offset.estimate();
    const Time error = std::chrono::abs(estimate.ahead - ahead);
    REQUIRE(error <= (equal_ways ? Time(1) : estimate.uncertainty));
    now = trip.received_here + 500ms;
  }
  CHECK(offset.estimate()->uncertainty < 25ms);
}

TEST_CASE("the clock offset follows a clock that drifts, and ignores round trips that cannot have been") {
  ClockOffset offset;
  for (int i = 0; i < 1000; ++i) {
    // 100 parts in a million, as bad as clocks get.
    const Time now = i * 500ms, ahead = 1s + now / 10'000;
    offset.add({now, now + 1ms + ahead, now + 1ms + ahead, now + 2ms});
  }
  const Time truth = 1s + 999 * 500ms / 10'000;
  CHECK(std::chrono::abs(offset.estimate()->ahead - truth) < 3ms);
  const Time before = offset.estimate()->ahead;
  offset.add({10s, 5s, 5s, 9s});
  offset.add({10s, 6s, 5s, 11s});
  offset.add({Time::min(), Time::max(), Time::min(), Time::max()});
  CHECK(offset.estimate()->ahead == before);
}

TEST_CASE("a silent peer is lost after the allowed time, with both times named") {
  const Timing timing{.heartbeat = 500ms, .silence = 5s, .reconnect = 1500ms};
  Presence presence(timing, 10s);
  presence.attach(10s);
  presence.heard(12s);
  CHECK_FALSE(presence.absence(17s));
  CHECK(presence.absence(17s + 250ms) == "was silent for 5.250 s, 5.000 s is allowed");
  presence.heard(17s + 250ms);
  CHECK_FALSE(presence.absence(18s));
}

TEST_CASE("a peer whose connection ended is lost earlier, unless it comes back") {
  const Timing timing{.heartbeat = 500ms, .silence = 5s, .reconnect = 1500ms};
  Presence presence(timing, 0s);
  presence.attach(0s);
  presence.detach(3s);
  presence.detach(4s);
  CHECK_FALSE(presence.absence(4s + 500ms));
  CHECK(presence.next() == 4s + 500ms + Time(1));
  CHECK(presence.absence(4s + 600ms) == "lost its connection and did not come back for 1.600 s, 1.500 s is allowed");
  presence.attach(4s + 400ms);
  CHECK_FALSE(presence.absence(9s));
}

TEST_CASE("heartbeats are due at their interval and only while connected; the time of a pause is no absence") {
  const Timing timing{.heartbeat = 500ms, .silence = 5s, .reconnect = 1500ms};
  Presence presence(timing, 0s);
  CHECK_FALSE(presence.heartbeat_due(100s));
  presence.attach(0s);
  CHECK_FALSE(presence.heartbeat_due(499ms));
  CHECK(presence.next() == 500ms);
  CHECK(presence.heartbeat_due(500ms));
  presence.said(500ms);
  CHECK_FALSE(presence.heartbeat_due(999ms));
  presence.forgive(100s, 100s + 500ms);
  CHECK_FALSE(presence.absence(105s));
  CHECK(presence.absence(106s));
}

TEST_CASE("a pause forgives no absence that comes after it") {
  const Timing timing{.heartbeat = 500ms, .silence = 5s, .reconnect = 1500ms};
  Presence presence(timing, 0s);
  presence.attach(0s);
  presence.heard(60s);
  presence.forgive(59s, 60s);
  CHECK_FALSE(presence.absence(65s));
  CHECK(presence.absence(65s + Time(1)));
  presence.detach(60s);
  presence.forgive(59s, 60s);
  CHECK(presence.absence(61500ms + Time(1)));
}

TEST_CASE("the same complaint is passed on once, and all in all few are") {
  Complaints complaints(600s, 3);
  CHECK(complaints.admit("a", 0s) == "a");
  CHECK_FALSE(complaints.admit("a", 1s));
  CHECK_FALSE(complaints.admit("a", 599s));
  CHECK(complaints.admit("b", 599s) == "b (2 such lines were left out before)");
  CHECK(complaints.admit("a", 600s) == "a");
  CHECK(complaints.admit("c", 600s) == "c");
  for (int i = 0; i < 1000; ++i) CHECK_FALSE(complaints.admit(std::to_string(i), 601s));
  CHECK(complaints.admit("e", 1200s) == "e (1000 such lines were left out before)");
}

TEST_CASE("of an address that fails in several ways the definite one is told, and once") {
  HandshakeFailures failures;
  CHECK(failures.add("", "ended", false, 0s).empty());
  CHECK(failures.add("10.0.0.1", "ended", false, 0s).empty());
  CHECK(failures.due(1s).empty());
  CHECK(failures.add("10.0.0.1", "no keys", true, 1s) == "somebody at 10.0.0.1 is refused: no keys");
  for (int i = 0; i < 100; ++i) {
    CHECK(failures.add("10.0.0.1", i % 2 == 0 ? "no keys" : "ended", i % 2 == 0, 2s).empty());
    CHECK(failures.add("", "no keys", true, 2s).empty());
  }
  CHECK(failures.due(500s).empty());
  CHECK(failures.add("10.0.0.2", "no keys", true, 500s) == "somebody at 10.0.0.2 is refused: no keys");
  CHECK(failures.add("10.0.0.1", "no keys", true, 601s) == "somebody at 10.0.0.1 is refused: no keys");
}

TEST_CASE("what stays vague is told after a while") {
  HandshakeFailures failures;
  CHECK(failures.add("", "ended", false, 0s).empty());
  CHECK(failures.due(1999ms).empty());
  CHECK(failures.due(2s) == std::vector<std::string>{"somebody is refused: ended"});
  CHECK(failures.due(3s).empty());
}

}  // namespace
}  // namespace tandem::comm::control
