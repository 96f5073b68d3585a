// The protocol of both ends against a network that is played: no sockets, no threads, and a clock set by hand.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <deque>
#include <memory>
#include <random>

#include "comm/control/client_side.h"
#include "comm/control/server_side.h"

namespace tandem::comm::control {
namespace {

using Bytes = std::vector<std::byte>;

Bytes number_bytes(std::uint64_t number) {
  const auto bytes = std::as_bytes(std::span(&number, 1));
  return {bytes.begin(), bytes.end()};
}

std::uint64_t number_of(const Bytes& bytes) {
  std::uint64_t number = 0;
  REQUIRE(bytes.size() == sizeof(number));
  std::memcpy(&number, bytes.data(), sizeof(number));
  return number;
}

Rules rules_of(const std::string& version = "1.0") { return {.version = version}; }

/// A node, its connection, and what has been told to it.
struct Node {
  explicit Node(int number, const Rules& rules, Time now)
      : info{.version = rules.version, .host = "host" + std::to_string(number), .pid = number},
        side(rules, info, "tcp://driver:1", 30s, now) {}

  NodeInfo info;
  ClientSide side;
  std::string connection;  // empty: none
  std::deque<Bytes> to_server, to_node;
  std::vector<std::uint64_t> received;
  std::uint64_t sent = 0;
  std::string end;  // "left", "lost: ..." or "refused: ..."
  int joined = 0;
};

struct World {
  explicit World(int nodes, const Rules& rules = rules_of()) : server(std::make_unique<ServerSide>(rules, now)) {
    for (int i = 0; i < nodes; ++i) add(rules);
  }

  Node& add(const Rules& rules) {
    all.push_back(std::make_unique<Node>(static_cast<int>(all.size()), rules, now));
    return *all.back();
  }

  Node* node_of(const std::string& connection) {
    for (auto& node : all) {
      if (!connection.empty() && node->connection == connection) return node.get();
    }
    return nullptr;
  }

  void collect_server() {
    for (auto& [to, frame] : server->take_outgoing(now)) {
      if (Node* node = node_of(to)) node->to_node.push_back(std::move(frame));
    }
    for (auto& event : server->take_events()) {
      if (auto* joined = std::get_if<ServerSide::Joined>(&event)) {
        hosts.emplace(joined->node, joined->info.host);
        ids[joined->info.host] = joined->node;
      } else if (auto* message = std::get_if<ServerSide::Message>(&event)) {
        received[hosts.at(message->node)].push_back(number_of(message->bytes));
      } else if (auto* left = std::get_if<ServerSide::Left>(&event)) {
        log.push_back(hosts.at(left->node) + " left");
      } else if (auto* lost = std::get_if<ServerSide::Lost>(&event)) {
        log.push_back(lost->reason);
      } else if (auto* refused = std::get_if<ServerSide::Refused>(&event)) {
        log.push_back(refused->reason);
      } else {
        log.push_back("dropped: " + std::get<ServerSide::Dropped>(event).what);
      }
    }
  }

  void collect(Node& node) {
    if (node.side.wants_connection(now)) {
      cut(node);
      node.connection = "c" + std::to_string(++connections);
      node.side.connecting(now);
    }
    for (auto& frame : node.side.take_outgoing(now)) {
      if (!node.connection.empty()) node.to_server.push_back(std::move(frame));
    }
    for (auto& event : node.side.take_events()) {
      if (auto* message = std::get_if<ClientSide::Message>(&event)) {
        node.received.push_back(number_of(message->bytes));
        continue;
      }
      REQUIRE(node.end.empty());
      if (std::holds_alternative<ClientSide::Joined>(event)) ++node.joined;
      if (std::holds_alternative<ClientSide::Left>(event)) node.end = "left";
      if (auto* lost = std::get_if<ClientSide::Lost>(&event)) node.end = "lost: " + lost->reason;
      if (auto* refused = std::get_if<ClientSide::Refused>(&event)) node.end = "refused: " + refused->reason;
    }
  }

  bool deliver_to_server(Node& node) {
    if (node.to_server.empty()) return false;
    const Bytes frame = std::move(node.to_server.front());
    node.to_server.pop_front();
    server->receive(node.connection, "", "10.0.0.1", frame, now);
    collect_server();
    return true;
  }

  bool deliver_to_node(Node& node) {
    if (node.to_node.empty()) return false;
    const Bytes frame = std::move(node.to_node.front());
    node.to_node.pop_front();
    node.side.receive(frame, now);
    collect(node);
    return true;
  }

  /// Ends the connection; what is under way is lost.
  void cut(Node& node) {
    if (node.connection.empty()) return;
    server->disconnect(node.connection, now);
    node.connection.clear();
    node.to_server.clear();
    node.to_node.clear();
    node.side.disconnect("cut", now);
  }

  void advance(Time step) {
    now += step;
    server->tick(now);
    collect_server();
    for (auto& node : all) {
      node->side.tick(now);
      collect(*node);
    }
  }

  /// Everything that can come through does.
  void settle(Time span = 2s) {
    for (const Time until = now + span; now < until;) {
      advance(10ms);
      for (bool any = true; any;) {
        any = false;
        for (auto& node : all) any = deliver_to_server(*node) || deliver_to_node(*node) || any;
      }
    }
  }

  void send_to(Node& node, std::uint64_t number) { server->send(ids.at(node.info.host), number_bytes(number)); }

  Time now = 1000s;
  int connections = 0;
  std::unique_ptr<ServerSide> server;
  std::vector<std::unique_ptr<Node>> all;
  std::map<NodeId, std::string> hosts;
  std::map<std::string, NodeId> ids;
  std::map<std::string, std::vector<std::uint64_t>> received;
  std::vector<std::string> log;
};

std::vector<std::uint64_t> first_numbers(std::uint64_t count) {
  std::vector<std::uint64_t> numbers(count);
  for (std::uint64_t i = 0; i < count; ++i) numbers[i] = i;
  return numbers;
}

TEST_CASE("nodes join, messages go both ways, also those sent before joining, and goodbyes are told of") {
  World world(3);
  world.all[0]->side.send(number_bytes(0));
  world.settle();
  for (auto& node : world.all) REQUIRE(node->joined == 1);
  CHECK(world.received["host0"] == first_numbers(1));
  for (auto& node : world.all) world.send_to(*node, 0);
  world.settle();
  for (auto& node : world.all) CHECK(node->received == first_numbers(1));
  CHECK(world.server->all_acknowledged());
  world.all[1]->side.say_goodbye();
  world.settle();
  CHECK(world.log == std::vector<std::string>{"host1 left"});
  CHECK_THROWS_AS(world.send_to(*world.all[1], 1), GoneError);
  CHECK_THROWS_AS(world.all[1]->side.send({}), GoneError);
  world.server->say_goodbye();
  CHECK_THROWS_AS(world.send_to(*world.all[0], 1), GoneError);
  world.settle();
  CHECK(world.all[0]->end == "left");
  CHECK(world.all[2]->end == "left");
}

TEST_CASE("nodes of another version or wire format are refused, and both ends name both") {
  World world(1);
  Node& version = world.add(rules_of("0.9"));
  Rules other_format = rules_of("2.0");
  other_format.format = 7;
  Node& format = world.add(other_format);
  world.settle();
  CHECK(world.all[0]->joined == 1);
  const std::string of_version = "it runs version 0.9 with wire format 1, the driver version 1.0 with wire format 1";
  const std::string of_format = "it runs version 2.0 with wire format 7, the driver version 1.0 with wire format 1";
  CHECK(version.end == "refused: the driver at tcp://driver:1 refuses this node: " + of_version);
  CHECK(format.end == "refused: the driver at tcp://driver:1 refuses this node: " + of_format);
  CHECK(world.log == std::vector<std::string>{"node host1 (pid 1) is refused: " + of_version,
                                              "a node at 10.0.0.1 is refused: " + of_format});
}

TEST_CASE("over connections that are cut at random every message comes once and in order") {
  std::mt19937_64 random(Catch::rngSeed());
  INFO("seed " << Catch::rngSeed());
  World world(3);
  std::map<std::string, std::uint64_t> sent;
  for (int i = 0; i < 30'000; ++i) {
    Node& node = *world.all[random() % world.all.size()];
    switch (random() % 8) {
      case 0:
        node.side.send(number_bytes(node.sent++));
        world.collect(node);
        break;
      case 1:
        if (node.joined == 0) break;
        world.send_to(node, sent[node.info.host]++);
        world.collect_server();
        break;
      case 2:
        if (random() % 50 == 0) world.cut(node);
        break;
      case 3:
        world.advance(Time(static_cast<std::int64_t>(random() % 5'000'000)));
        break;
      default:
        if (random() % 2 == 0) {
          world.deliver_to_server(node);
        } else {
          world.deliver_to_node(node);
        }
    }
    REQUIRE(node.received == first_numbers(node.received.size()));
    REQUIRE(world.received[node.info.host] == first_numbers(world.received[node.info.host].size()));
  }
  world.settle();
  for (auto& node : world.all) {
    CHECK(node->end.empty());
    CHECK(node->joined == 1);
    CHECK(node->received == first_numbers(sent[node->info.host]));
    CHECK(world.received[node->info.host] == first_numbers(node->sent));
  }
  CHECK(world.log.empty());
  CHECK(world.connections > 20);
}

// As a network below that is broken would: TCP does none of this.
TEST_CASE(
    "a frame that is lost, repeated or out of order ends the session or does no harm, and never passes for good") {
  std::mt19937_64 random(Catch::rngSeed());
  INFO("seed " << Catch::rngSeed());
  int ended = 0;
  for (int round = 0; round < 200; ++round) {
    World world(1);
    world.settle(100ms);
    Node& node = *world.all[0];
    const int fault = static_cast<int>(random() % 3);
    for (std::uint64_t i = 0; i < 20; ++i) node.side.send(number_bytes(i));
    world.collect(node);
    auto& wire = node.to_server;
    REQUIRE(wire.size() >= 20);
    const std::size_t at = random() % (wire.size() - 1);
    if (fault == 0) wire.erase(wire.begin() + static_cast<std::ptrdiff_t>(at));
    if (fault == 1) wire.insert(wire.begin() + static_cast<std::ptrdiff_t>(at), wire[at]);
    if (fault == 2) std::swap(wire[at], wire[at + 1]);
    world.settle();
    const auto& received = world.received["host0"];
    CHECK(received == first_numbers(received.size()));
    if (received.size() < 20) {
      ++ended;
      REQUIRE(world.log.size() == 1);
      CHECK_THAT(world.log[0], Catch::Contains("node host0 (pid 0) data ") && Catch::Contains(" was due, "));
      CHECK_THAT(node.end, Catch::Contains("lost: ") && Catch::Contains(" was due, "));
    } else {
      CHECK(node.end.empty());
    }
  }
  CHECK(ended > 20);
}

TEST_CASE("a node that is silent is lost, is told so when it wakes, and the others go on") {
  World world(2);
  world.settle();
  Node& silent = *world.all[0];
  for (int i = 0; i < 600; ++i) {
    world.advance(10ms);
    silent.to_server.clear();
    while (world.deliver_to_node(silent)) {
    }
    while (world.deliver_to_server(*world.all[1]) || world.deliver_to_node(*world.all[1])) {
    }
  }
  REQUIRE(world.log.size() == 1);
  CHECK_THAT(world.log[0],
             Catch::StartsWith("node host0 (pid 0) was silent for 5.0") && Catch::EndsWith(" s, 5.000 s is allowed"));
  world.settle();
  CHECK_THAT(silent.end, Catch::Contains("has given it up: it was silent for 5.0"));
  CHECK(world.all[1]->end.empty());
}

TEST_CASE("a node goes by the times of its driver, once it is welcome") {
  Rules patient = rules_of();
  patient.timing.reconnect = 10s;
  World world(0, patient);
  Node& node = world.add(rules_of());
  world.settle();
  REQUIRE(node.joined == 1);
  for (int i = 0; i < 900; ++i) {
    world.cut(node);
    world.advance(10ms);
  }
  CHECK(node.end == "");
  for (int i = 0; i < 200; ++i) {
    world.cut(node);
    world.advance(10ms);
  }
  CHECK_THAT(node.end, Catch::Contains("10.000 s is allowed"));
}

TEST_CASE("a node whose connection ends for good is lost sooner") {
  World world(1);
  world.settle();
  Node& node = *world.all[0];
  world.server->disconnect(node.connection, world.now);
  const Time begin = world.now;
  while (world.log.empty()) {
    world.now += 10ms;
    world.server->tick(world.now);
    world.collect_server();
  }
  CHECK(world.now - begin == 1510ms);
  CHECK(world.log[0] == "node host0 (pid 0) lost its connection and did not come back for 1.510 s, 1.500 s is allowed");
}

TEST_CASE("a driver that does not come back is lost, and one that never was refuses") {
  World world(1);
  world.settle();
  Node& node = *world.all[0];
  for (int i = 0; i < 200; ++i) {
    world.cut(node);
    world.advance(10ms);
  }
  CHECK_THAT(node.end, Catch::StartsWith("lost: the driver at tcp://driver:1 lost its connection"));

  ClientSide alone(rules_of(), node.info, "tcp://driver:1", 30s, 0s);
  Time now = 0s;
  int tries = 0;
  for (; !alone.ended(); now += 100ms) {
    alone.tick(now);
    if (!alone.wants_connection(now)) continue;
    ++tries;
    alone.connecting(now);
    alone.disconnect("nobody listens there", now);
  }
  CHECK(now > 30s);
  CHECK(now < 31s);
  CHECK(tries > 50);
  const auto events = alone.take_events();
  REQUIRE(events.size() == 1);
  CHECK_THAT(std::get<ClientSide::Refused>(events[0]).reason,
             Catch::Contains("30.000 s is allowed (nobody listens there)"));
  CHECK_THROWS_AS(alone.send({}), GoneError);
}

TEST_CASE("a node cannot resume what the driver does not know") {
  World world(1);
  world.settle();
  Node& node = *world.all[0];
  world.server = std::make_unique<ServerSide>(rules_of(), world.now);
  world.cut(node);
  world.settle();
  CHECK_THAT(node.end, Catch::Contains("does not know it, or has given it up: it cannot resume"));
}

TEST_CASE("a node that says hello in another wire format is lost, once") {
  World world(1);
  world.settle();
  const Node& node = *world.all[0];
  for (int i = 0; i < 100; ++i) {
    world.server->receive(node.connection, "", "10.0.0.1", encode({0, 0, Hello{node.info, {}, 0}}, wire_format + 1),
                          world.now);
  }
  CHECK(world.server->take_outgoing(world.now).size() == 1);
  world.collect_server();
  CHECK(world.log == std::vector<std::string>{"node host0 (pid 0) said hello in another wire format"});
}

TEST_CASE("an end whose connection is cut parts only when it is back, or the other end is given up") {
  World world(1);
  CHECK(world.all[0]->side.may_part());
  world.settle();
  Node& node = *world.all[0];
  CHECK(node.side.may_part());
  CHECK(world.server->may_part());
  world.cut(node);
  CHECK_FALSE(node.side.may_part());
  CHECK_FALSE(world.server->may_part());
  SECTION("back") {
    world.settle();
    CHECK(node.end.empty());
  }
  SECTION("given up") {
    for (int i = 0; i < 200; ++i) {
      world.cut(node);
      world.advance(10ms);
    }
    CHECK(node.side.ended());
  }
  CHECK(node.side.may_part());
  CHECK(world.server->may_part());
}

TEST_CASE("a goodbye that is lost with its connection, or the answer to it, is said again on the next") {
  World world(2);
  world.settle();
  Node& node = *world.all[0];
  const bool by_node = GENERATE(true, false);
  if (by_node) {
    node.side.say_goodbye();
    world.collect(node);
  } else {
    world.server->say_goodbye();
    world.collect_server();
  }
  SECTION("the goodbye") {}
  SECTION("the answer") {
    while (by_node ? world.deliver_to_server(node) : world.deliver_to_node(node)) {
    }
  }
  world.cut(node);
  world.settle();
  CHECK(node.side.ended());
  if (by_node) {
    REQUIRE_FALSE(world.log.empty());
    CHECK(world.log[0] == "host0 left");
    CHECK(world.all[1]->end.empty());
  } else {
    CHECK(node.end == "left");
    CHECK(world.server->parted());
  }
}

TEST_CASE("what does not belong on the control port is dropped and logged once") {
  World world(1);
  world.settle();
  for (int i = 0; i < 100; ++i) {
    world.server->receive("x", "", "10.9.9.9", number_bytes(7), world.now);
    world.server->receive("x", "", "10.9.9.9", encode({5, 0, Data{}}), world.now);
    world.server->receive(world.all[0]->connection, "", "10.0.0.1", number_bytes(7), world.now);
  }
  world.collect_server();
  CHECK(world.log.size() == 3);
  CHECK(world.log[0] == "dropped: a message of 8 bytes from 10.9.9.9");
  world.all[0]->side.send(number_bytes(0));
  world.settle();
  CHECK(world.received["host0"] == first_numbers(1));
}

TEST_CASE("a driver that was stopped for long does not take its nodes for lost") {
  World world(2);
  world.settle();
  world.now += 60s;
  world.server->tick(world.now);
  world.collect_server();
  CHECK(world.log.empty());
  world.settle();
  CHECK(world.log.empty());
  for (auto& node : world.all) CHECK(node->end.empty());
}

TEST_CASE("an end that cannot go on tells of all whom it is out of touch with, and of why") {
  World world(2);
  world.settle();
  world.server->fail("no memory", world.now);
  world.collect_server();
  std::ranges::sort(world.log);
  CHECK(world.log == std::vector<std::string>{"node host0 (pid 0) is out of reach: no memory",
                                              "node host1 (pid 1) is out of reach: no memory",
                                              "whoever wants to join is refused: no memory"});
  CHECK_THROWS_AS(world.send_to(*world.all[0], 1), GoneError);
  Node& node = *world.all[0];
  node.side.fail("no memory");
  world.collect(node);
  CHECK(node.end == "lost: the driver at tcp://driver:1 is out of reach: no memory");
  CHECK_THROWS_AS(node.side.send({}), GoneError);
}

TEST_CASE("both ends know the offset of the other's clock") {
  World world(1);
  world.settle(3s);
  const auto here = world.server->offset(world.ids.at("host0"));
  REQUIRE(here);
  CHECK(std::chrono::abs(here->ahead) <= here->uncertainty);
  CHECK(world.all[0]->side.offset());
}

TEST_CASE("a frame beyond what may be kept is refused to the sender, and the session goes on") {
  Rules rules = rules_of();
  rules.backlog = 2 * (8 + Delivery::message_overhead);
  World world(1, rules);
  world.settle();
  Node& node = *world.all[0];
  node.side.send(number_bytes(0));
  node.side.send(number_bytes(1));
  CHECK_THROWS_AS(node.side.send(number_bytes(2)), BacklogError);
  CHECK_THROWS_AS(node.side.send(Bytes(rules.largest_message + 1)), ControlError);
  world.settle();
  node.side.send(number_bytes(2));
  world.settle();
  CHECK(world.received["host0"] == first_numbers(3));
}

}  // namespace
}  // namespace tandem::comm::control
