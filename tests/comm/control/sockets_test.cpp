// Driver and nodes over real sockets of this machine.
#include <catch2/catch.hpp>
#include <memory>
#include <random>
#include <set>
#include <thread>

#include "comm/control/recorder.h"
#include "comm/control/tcp.h"
#include "comm/signal_storm.h"

namespace tandem::test {
namespace {

using control::ControlClient;
using control::ControlServer;

struct Pair {
  explicit Pair(const control::ServerOptions& options = server_options()) : server(options, at_driver) {}

  ServerRecorder at_driver;
  ClientRecorder at_node;
  ControlServer server;
  ControlClient client{client_options(server.endpoint()), at_node};
};

TEST_CASE("a node joins, is introduced, and leaves") {
  ServerRecorder at_driver;
  ControlServer server(server_options(), at_driver);
  CHECK_THAT(server.endpoint(), Catch::StartsWith("tcp://127.0.0.1:") && !Catch::EndsWith(":0"));
  ClientRecorder at_node;
  auto options = client_options(server.endpoint());
  options.self = control::this_node("1.0", "left", 3);
  options.self.cores = 99;
  ControlClient client(options, at_node);
  REQUIRE(at_node.wait_joined());
  REQUIRE(at_driver.wait_joined(1));
  const control::NodeInfo& info = at_driver.joined[0].second;
  CHECK(info.host == options.self.host);
  CHECK(info.pid == options.self.pid);
  CHECK(info.name == "left");
  CHECK(info.cores == 99);
  CHECK(info.devices == 3);
  CHECK(at_driver.keys[0].empty());
  CHECK(info.memory == options.self.memory);
  CHECK(info.memory > 0);
  CHECK(client.close());
  REQUIRE(at_driver.wait([&] { return at_driver.left.size() == 1; }));
  CHECK(at_driver.left[0] == at_driver.joined[0].first);
  CHECK_THROWS_AS(server.send(at_driver.left[0], {}), control::GoneError);
  CHECK_THROWS_AS(client.send({}), control::GoneError);
  CHECK(server.close());
  CHECK(at_driver.lost.empty());
  CHECK(at_driver.dropped.empty());
}

TEST_CASE("a hundred thousand messages each way come in order, answered from the listener, and nothing is left over") {
  constexpr std::size_t count = 100'000;
  Pair pair;
  pair.at_driver.answer = [&](const auto& node, const auto& message) { pair.server.send(node, message); };
  REQUIRE(pair.at_node.wait_joined());
  for (std::size_t i = 0; i < count; ++i) pair.client.send(bytes_of(std::to_string(i)));
  REQUIRE(pair.at_node.wait_messages(count));
  for (std::size_t i = 0; i < count; ++i) REQUIRE(text_of(pair.at_node.messages[i]) == std::to_string(i));
  CHECK(pair.client.close(long_enough));
  CHECK(pair.server.close(long_enough));
}

TEST_CASE("messages of several megabytes come whole, mixed with empty ones") {
  std::mt19937_64 random(Catch::rngSeed());
  Pair pair;
  REQUIRE(pair.at_driver.wait_joined(1));
  REQUIRE(pair.at_node.wait_joined());
  std::vector<std::vector<std::byte>> sent;
  for (int i = 0; i < 6; ++i) {
    sent.emplace_back(i % 2 == 0 ? (std::size_t{4} << 20) + random() % 100'000 : 0, std::byte(random()));
    pair.server.send(pair.at_driver.joined[0].first, sent.back());
    pair.client.send(sent.back());
  }
  REQUIRE(pair.at_node.wait_messages(sent.size()));
  REQUIRE(pair.at_driver.wait_messages(sent.size()));
  CHECK(pair.at_node.messages == sent);
  CHECK(pair.at_driver.messages.begin()->second == sent);
}

TEST_CASE("several threads send at once, to several nodes, and each node's messages keep each sender's order") {
  constexpr int nodes = 5, senders = 3, count = 2000;
  ServerRecorder at_driver;
  ControlServer server(server_options(), at_driver);
  std::vector<std::unique_ptr<ClientRecorder>> at_nodes;
  std::vector<std::unique_ptr<ControlClient>> clients;
  for (int i = 0; i < nodes; ++i) {
    at_nodes.push_back(std::make_unique<ClientRecorder>());
    clients.push_back(std::make_unique<ControlClient>(client_options(server.endpoint()), *at_nodes.back()));
  }
  REQUIRE(at_driver.wait_joined(nodes));
  std::vector<std::jthread> threads;
  for (int sender = 0; sender < senders; ++sender) {
    threads.emplace_back([&, sender] {
      for (int i = 0; i < count; ++i) {
        for (const auto& [node, info] : at_driver.joined) {
          server.send(node, bytes_of(std::to_string(sender) + " " + std::to_string(i)));
        }
      }
    });
  }
  threads.clear();
  for (const auto& at_node : at_nodes) {
    REQUIRE(at_node->wait_messages(senders * count));
    std::vector<int> next(senders);
    for (const auto& message : at_node->messages) {
      const std::string text = text_of(message);
      const auto sender = static_cast<std::size_t>(text[0] - '0');
      REQUIRE(text.substr(2) == std::to_string(next[sender]++));
    }
  }
  CHECK(server.close(long_enough));
  for (const auto& at_node : at_nodes) CHECK(at_node->wait([&] { return at_node->left; }));
}

TEST_CASE("a node of another version is refused with both named, and the driver goes on") {
  Pair pair;
  REQUIRE(pair.at_node.wait_joined());
  ClientRecorder other;
  auto options = client_options(pair.server.endpoint());
  options.rules.version = options.self.version = "0.9";
  ControlClient client(options, other);
  REQUIRE(other.wait_refused());
  CHECK_THAT(other.refused,
             Catch::Contains("version 0.9 with wire format 1, the driver version 1.0 with wire format 1"));
  CHECK_THROWS_AS(client.send({}), control::GoneError);
  REQUIRE(pair.at_driver.wait([&] { return pair.at_driver.refused.size() == 1; }));
  CHECK_THAT(pair.at_driver.refused[0], Catch::Contains("version 0.9") && Catch::Contains("version 1.0"));
  ClientRecorder foreign;
  options = client_options(pair.server.endpoint());
  options.rules.format = 2;
  ControlClient foreigner(options, foreign);
  REQUIRE(foreign.wait_refused());
  CHECK_THAT(foreign.refused,
             Catch::Contains("version 1.0 with wire format 2, the driver version 1.0 with wire format 1"));
  pair.client.send(bytes_of("still here"));
  CHECK(pair.at_driver.wait_messages(1));
}

TEST_CASE("two drivers at once have ports and nodes of their own, and a port in use is an error that names it") {
  Pair first, second;
  REQUIRE(first.server.endpoint() != second.server.endpoint());
  first.client.send(bytes_of("first"));
  second.client.send(bytes_of("second"));
  REQUIRE(first.at_driver.wait_messages(1));
  REQUIRE(second.at_driver.wait_messages(1));
  CHECK(text_of(first.at_driver.messages.begin()->second[0]) == "first");
  CHECK(text_of(second.at_driver.messages.begin()->second[0]) == "second");
  auto options = server_options();
  options.endpoint = first.server.endpoint();
  CHECK_THROWS_WITH(ControlServer(options, first.at_driver),
                    Catch::Contains(options.endpoint) && Catch::Contains("in use"));
  options.endpoint = "nonsense";
  CHECK_THROWS_AS(ControlServer(options, first.at_driver), control::ControlError);
  ClientRecorder at_node;
  CHECK_THROWS_AS(ControlClient(client_options("nonsense"), at_node), control::ControlError);
}

TEST_CASE("over IPv6 a node joins, and both are named by their addresses") {
  if (!has_ipv6_loopback()) {
    WARN("this machine has no IPv6");
    return;
  }
  auto options = server_options();
  options.endpoint = "tcp://[::1]:0";
  Pair pair(options);
  CHECK_THAT(pair.server.endpoint(), Catch::StartsWith("tcp://[::1]:"));
  pair.client.send(bytes_of("hello"));
  REQUIRE(pair.at_driver.wait_messages(1));
  ClientRecorder at_other;
  auto of_other = client_options(pair.server.endpoint());
  of_other.rules.format = 2;
  ControlClient other(of_other, at_other);
  REQUIRE(at_other.wait_refused());
  CHECK_THAT(at_other.refused, Catch::StartsWith("the driver at " + pair.server.endpoint()));
  REQUIRE(pair.at_driver.wait([&] { return !pair.at_driver.refused.empty(); }));
  CHECK_THAT(pair.at_driver.refused[0], Catch::StartsWith("a node at ::1 is refused"));
}

TEST_CASE("a driver is found by its host's name, and a host that is not known is an error at once that names it") {
  ServerRecorder at_driver;
  ControlServer server(server_options(), at_driver);
  ClientRecorder at_node;
  ControlClient client(client_options("tcp://localhost" + server.endpoint().substr(server.endpoint().rfind(':'))),
                       at_node);
  REQUIRE(at_node.wait_joined());
  const std::string unknown = "tcp://no-such-host.invalid:7070";
  CHECK_THROWS_AS(ControlClient(client_options(unknown), at_node), control::ControlError);
  CHECK_THROWS_WITH(ControlClient(client_options(unknown), at_node),
                    Catch::Contains("\"" + unknown + "\"") && Catch::Contains("is not known"));
}

TEST_CASE("a port is free again once its server is closed") {
  const Tcp port = Tcp::reserved();
  ServerRecorder at_driver;
  auto options = server_options();
  options.endpoint = port.endpoint();
  std::vector<std::unique_ptr<ControlServer>> servers;
  for (int i = 0; i < 5; ++i) {
    ControlServer& server = *servers.emplace_back(std::make_unique<ControlServer>(options, at_driver));
    ClientRecorder at_node;
    ControlClient client(client_options(options.endpoint), at_node);
    REQUIRE(at_node.wait_joined());
    CHECK(server.close(long_enough));
    CHECK(at_node.wait([&] { return at_node.left; }));
  }
}

TEST_CASE("a node waits for a driver that starts later, and gives up on one that does not") {
  const Tcp port = Tcp::reserved();
  const std::string endpoint = port.endpoint();
  ServerRecorder at_driver;
  ClientRecorder at_node;
  ControlClient client(client_options(endpoint), at_node);
  client.send(bytes_of("early"));
  auto options = server_options();
  options.endpoint = endpoint;
  {
    ControlServer server(options, at_driver);
    REQUIRE(at_node.wait_joined());
    REQUIRE(at_driver.wait_messages(1));
  }
  ClientRecorder in_vain;
  auto impatient = client_options(endpoint);
  impatient.join_limit = 300ms;
  ControlClient second(impatient, in_vain);
  REQUIRE(in_vain.wait_refused());
  CHECK_THAT(in_vain.refused,
             Catch::Contains(endpoint) && Catch::Contains("0.300 s is allowed (nobody listens there)"));
}

TEST_CASE("a driver that says goodbye is not lost") {
  ServerRecorder at_driver;
  ClientRecorder at_node;
  auto server = std::make_unique<ControlServer>(server_options(), at_driver);
  ControlClient client(client_options(server->endpoint()), at_node);
  REQUIRE(at_node.wait_joined());
  server.reset();
  CHECK(at_node.wait([&] { return at_node.left; }));
  CHECK_THROWS_AS(client.send({}), control::GoneError);
}

TEST_CASE("both ends estimate the offset between their clocks") {
  auto options = server_options();
  options.rules.timing.heartbeat = 20ms;
  options.clock = [] { return std::chrono::steady_clock::now().time_since_epoch() + 1000s; };
  Pair pair(options);
  REQUIRE(pair.at_driver.wait_joined(1));
  const control::NodeId node = pair.at_driver.joined[0].first;
  std::optional<control::Offset> of_node, of_driver;
  // Messages to and fro pace the look at the offsets.
  for (std::size_t i = 1; !of_node || !of_driver; ++i) {
    pair.client.send({});
    REQUIRE(pair.at_driver.wait_messages(i));
    of_node = pair.server.offset(node);
    of_driver = pair.client.offset();
  }
  CHECK(std::chrono::abs(of_node->ahead + 1000s) <= of_node->uncertainty);
  CHECK(std::chrono::abs(of_driver->ahead - 1000s) <= of_driver->uncertainty);
  CHECK_FALSE(pair.server.offset({1, 2}));
}

TEST_CASE("signals that the program handles disturb neither end") {
  constexpr std::size_t count = 20'000;
  const SignalStorm storm;
  Pair pair;
  pair.at_driver.answer = [&](const auto& node, const auto& message) { pair.server.send(node, message); };
  REQUIRE(pair.at_node.wait_joined());
  for (std::size_t i = 0; i < count; ++i) pair.client.send(bytes_of(std::to_string(i)));
  REQUIRE(pair.at_node.wait_messages(count));
  CHECK(pair.client.close(long_enough));
  CHECK(pair.server.close(long_enough));
}

TEST_CASE("closing while nobody takes what was sent ends at its limit and says so") {
  const Tcp port = Tcp::reserved();
  ClientRecorder nobody;
  ControlClient alone(client_options(port.endpoint()), nobody);
  alone.send(bytes_of("never delivered"));
  CHECK_FALSE(alone.close(50ms));
  CHECK_FALSE(alone.close(50ms));
}

}  // namespace
}  // namespace tandem::test
