// The driver's end of the protocol, by itself, against whoever says what.
#include <catch2/catch.hpp>

#include "comm/control/server_side.h"

namespace tandem::comm::control {
namespace {

using Bytes = std::vector<std::byte>;

Rules rules_of() { return {.version = "1.0"}; }

TEST_CASE("nobody takes another's identity without its session and its key") {
  ServerSide server(rules_of(), 0s);
  const Hello hello{{.version = "1.0", .host = "host0"}, random_node_id(), 0};
  const auto say = [&](const std::string& connection, const std::string& key, const Hello& what, std::uint64_t taken) {
    server.receive(connection, key, "10.0.0.1", encode({0, taken, what}), 0s);
    for (auto& [to, frame] : server.take_outgoing(0s)) {
      const auto decoded = decode(frame);
      if (to == connection && std::holds_alternative<Refuse>(std::get<Frame>(decoded).body))
        return std::string("refuse");
    }
    return std::string("welcome");
  };
  CHECK(say("a", "key", hello, 0) == "welcome");
  CHECK(say("b", "other key", hello, 0) == "refuse");
  Hello guess = hello;
  guess.session = 4711;
  CHECK(say("c", "key", guess, 0) == "refuse");
  // As from a node whose welcome was lost on the way.
  CHECK(say("d", "key", hello, 0) == "welcome");
  server.receive("d", "key", "10.0.0.1", encode({1, 0, Data{}}), 0s);
  CHECK(say("e", "key", hello, 0) == "refuse");
  int lost = 0;
  for (const auto& event : server.take_events()) lost += std::holds_alternative<ServerSide::Lost>(event);
  CHECK(lost == 0);
}

TEST_CASE("of a connection on which a node was known nothing counts, not even another hello") {
  ServerSide server(rules_of(), 0s);
  const Hello hello{{.version = "1.0", .host = "host0"}, random_node_id(), 0};
  server.receive("a", "", "10.0.0.1", encode({0, 0, hello}), 0s);
  server.receive("a", "", "10.0.0.1", encode({0, 0, Goodbye{}}), 0s);
  server.take_outgoing(0s);
  CHECK(server.take_events().size() == 2);
  server.receive("a", "", "10.0.0.1", encode({0, 0, hello}), 0s);
  server.receive("a", "", "10.0.0.1", encode({1, 0, Data{}}), 0s);
  CHECK(server.take_outgoing(0s).empty());
  CHECK(server.take_events().empty());
}

TEST_CASE("a connection is refused once, however much comes on it, and however many others there are") {
  constexpr int strangers = 1000;
  const Hello outdated{{.version = "0.9"}, {1, 2}, 0};
  const auto frame = GENERATE_COPY(
      values({encode({5, 0, Goodbye{}}), encode({0, 0, outdated}), encode({0, 0, outdated}, wire_format + 1)}));
  ServerSide server(rules_of(), 0s);
  const auto say = [&](int stranger) { server.receive("c" + std::to_string(stranger), "", "10.9.9.9", frame, 0s); };
  for (int round = 0; round < 3; ++round) {
    for (int stranger = 0; stranger < strangers; ++stranger) say(stranger);
  }
  CHECK(server.take_outgoing(0s).size() == strangers);
  for (int stranger = 0; stranger < strangers; ++stranger) server.disconnect("c" + std::to_string(stranger), 0s);
  // As what was under way when the connection ended.
  say(strangers - 1);
  CHECK(server.take_outgoing(0s).empty());
  CHECK(server.take_events().size() == 1);
}

TEST_CASE("the key by which a node joins is told of") {
  ServerSide server(rules_of(), 0s);
  server.receive("a", "key", "10.0.0.1", encode({0, 0, Hello{{.version = "1.0"}, {1, 2}, 0}}), 0s);
  const auto events = server.take_events();
  REQUIRE(events.size() == 1);
  CHECK(std::get<ServerSide::Joined>(events[0]).key == "key");
}

TEST_CASE("a node that sends a longer message than is allowed is given up") {
  Rules rules = rules_of();
  rules.largest_message = 100;
  ServerSide server(rules, 0s);
  server.receive("a", "", "10.0.0.1", encode({0, 0, Hello{{.version = "1.0", .host = "host0"}, {1, 2}, 0}}), 0s);
  server.receive("a", "", "10.0.0.1", encode({1, 0, Data{Bytes(101)}}), 0s);
  const auto events = server.take_events();
  REQUIRE(events.size() == 2);
  CHECK(std::get<ServerSide::Lost>(events[1]).reason ==
        "node host0 (pid 0) sent a message of 101 bytes, 100 are allowed");
}

TEST_CASE("refusals are logged however much garbage comes in") {
  ServerSide server(rules_of(), 0s);
  for (std::size_t size = 0; size < 1000; ++size) {
    server.receive("x", "", "10." + std::to_string(size) + ".9.9", Bytes(7), 0s);
  }
  server.take_events();
  server.receive("y", "", "10.0.0.1", encode({0, 0, Hello{{.version = "0.9"}, {1, 2}, 0}}), 0s);
  const auto events = server.take_events();
  REQUIRE(events.size() == 1);
  CHECK(std::holds_alternative<ServerSide::Refused>(events[0]));
}

}  // namespace
}  // namespace tandem::comm::control
