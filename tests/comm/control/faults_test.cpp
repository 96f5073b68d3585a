// What networks, dying processes and busy machines do to the control plane.
#include <fcntl.h>

#include <catch2/catch.hpp>
#include <random>

#include "comm/control/delivery.h"
#include "comm/control/party_process.h"
#include "comm/control/recorder.h"
#include "comm/control/relay.h"

namespace tandem::test {
namespace {

using control::ControlClient;
using control::ControlServer;

// What a machine that is starved of time may add to any bound.
constexpr double slack = 12;

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

TEST_CASE("a node that is killed is noticed by the end of its connection, well before its silence, and named") {
  ServerRecorder at_driver;
  ControlServer server(server_options(), at_driver);
  Party node({"node", server.endpoint()});
  REQUIRE(at_driver.wait_joined(1));
  CHECK(at_driver.joined[0].second.pid == node.pid());
  server.send(at_driver.joined[0].first, bytes_of("are you there"));
  REQUIRE(at_driver.wait_messages(1));
  const auto begin = std::chrono::steady_clock::now();
  node.kill(SIGKILL);
  REQUIRE(at_driver.wait([&] { return !at_driver.lost.empty(); }));
  const double seconds = seconds_since(begin);
  CHECK(seconds > 1.5);
  CHECK(seconds < 3 + slack);
  CHECK_THAT(at_driver.lost[0], Catch::StartsWith("node " + at_driver.joined[0].second.host + " (pid " +
                                                  std::to_string(node.pid()) + ") lost its connection") &&
                                    Catch::EndsWith("1.500 s is allowed"));
  CHECK_THROWS_AS(server.send(at_driver.joined[0].first, {}), control::GoneError);
}

TEST_CASE("a node that is stopped is lost after the allowed silence, and ends when it goes on") {
  auto options = server_options();
  options.rules.timing = {.heartbeat = 50ms, .silence = 1s, .reconnect = 500ms, .acknowledge = 20ms};
  ServerRecorder at_driver;
  ControlServer server(options, at_driver);
  Party node({"node", server.endpoint()});
  REQUIRE(at_driver.wait_joined(1));
  const auto begin = std::chrono::steady_clock::now();
  node.stop();
  REQUIRE(at_driver.wait([&] { return !at_driver.lost.empty(); }));
  CHECK(seconds_since(begin) < 1.05 + slack);
  CHECK_THAT(at_driver.lost[0], Catch::Contains(" was silent for ") && Catch::EndsWith("1.000 s is allowed"));
  node.kill(SIGCONT);
  const int status = node.wait();
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 3);
}

TEST_CASE("on a machine that is starved of time nobody who lives is lost") {
  ServerRecorder at_driver;
  ControlServer server(server_options(), at_driver);
  Party node({"node", server.endpoint()});
  REQUIRE(at_driver.wait_joined(1));
  std::atomic<bool> stop = false;
  std::vector<std::jthread> busy;
  for (unsigned i = 0; i < 4 * std::thread::hardware_concurrency(); ++i) {
    busy.emplace_back([&stop] {
      while (!stop) {
      }
    });
  }
  const bool lost = at_driver.wait([&] { return !at_driver.lost.empty(); }, control::Timing{}.silence + 1s);
  stop = true;
  CHECK_FALSE(lost);
  server.send(at_driver.joined[0].first, bytes_of("are you there"));
  CHECK(at_driver.wait_messages(1));
}

TEST_CASE("for a node that is stopped messages are kept up to the backlog, then not taken, and none is lost") {
  constexpr std::size_t count = 10'000, fit = 6000, size = 8;
  auto options = server_options();
  options.rules.timing.silence = long_enough;
  options.rules.largest_message = size;
  options.rules.backlog = fit * (size + control::Delivery::message_overhead);
  ServerRecorder at_driver;
  ControlServer server(options, at_driver);
  Party node({"node", server.endpoint()});
  REQUIRE(at_driver.wait_joined(1));
  const auto send = [&, id = at_driver.joined[0].first](std::size_t number) {
    std::string text = std::to_string(number);
    text.resize(size);
    server.send(id, bytes_of(text));
  };
  node.stop();
  for (std::size_t i = 0; i < fit; ++i) send(i);
  for (std::size_t i = fit; i < count; ++i) REQUIRE_THROWS_AS(send(i), control::BacklogError);
  node.kill(SIGCONT);
  REQUIRE(at_driver.wait_messages(fit));
  for (std::size_t i = fit; i < count; ++i) send(i);
  REQUIRE(at_driver.wait_messages(count));
  const auto& echoed = at_driver.messages.begin()->second;
  for (std::size_t i = 0; i < count; ++i) {
    REQUIRE(std::stoul(text_of(echoed[i])) == i);
  }
  CHECK(at_driver.lost.empty());
}

TEST_CASE("a driver that is killed is noticed by the end of its connection") {
  Party driver({"driver", "200"});
  ClientRecorder at_node;
  ControlClient client(client_options(driver.line()), at_node);
  REQUIRE(at_node.wait_joined());
  const auto begin = std::chrono::steady_clock::now();
  driver.kill(SIGKILL);
  REQUIRE(at_node.wait_lost());
  CHECK(seconds_since(begin) < 3 + slack);
  CHECK_THAT(at_node.lost, Catch::Contains("lost its connection") && Catch::EndsWith("1.500 s is allowed"));
}

TEST_CASE("a node whose connection is cut again and again resumes, and no message is lost or comes twice") {
  constexpr std::size_t count = 20'000;
  std::mt19937_64 random(Catch::rngSeed());
  auto options = server_options();
  options.rules.timing.reconnect = long_enough;
  ServerRecorder at_driver;
  ControlServer server(options, at_driver);
  Relay relay(server.endpoint());
  ClientRecorder at_node;
  at_driver.answer = [&](const auto& node, const auto& message) { server.send(node, message); };
  auto of_client = client_options(relay.endpoint());
  of_client.rules.timing.reconnect = long_enough;
  ControlClient client(of_client, at_node);
  REQUIRE(at_node.wait_joined());
  for (std::size_t i = 0; i < count; ++i) {
    client.send(bytes_of(std::to_string(i)));
    if (i % 4000 != 3999) continue;
    REQUIRE(at_node.wait_messages(i - random() % 2000));
    relay.cut();
  }
  REQUIRE(at_node.wait_messages(count));
  for (std::size_t i = 0; i < count; ++i) REQUIRE(text_of(at_node.messages[i]) == std::to_string(i));
  CHECK(relay.connections() > 2);
  CHECK(at_driver.joined.size() == 1);
  CHECK(at_driver.messages.begin()->second == at_node.messages);
  CHECK(at_driver.lost.empty());
  CHECK(client.close(long_enough));
  CHECK(at_driver.wait([&] { return at_driver.left.size() == 1; }));
}

TEST_CASE("a connection that is cut in the middle of a message costs none") {
  constexpr std::size_t count = 1000;
  std::mt19937_64 random(Catch::rngSeed());
  auto options = server_options();
  options.rules.timing.reconnect = long_enough;
  ServerRecorder at_driver;
  ControlServer server(options, at_driver);
  at_driver.answer = [&](const auto& node, const auto& message) { server.send(node, message); };
  Relay relay(server.endpoint());
  auto of_client = client_options(relay.endpoint());
  of_client.rules.timing.reconnect = long_enough;
  ClientRecorder at_node;
  ControlClient client(of_client, at_node);
  std::vector<std::vector<std::byte>> sent;
  for (std::size_t i = 0; i < count; ++i) {
    sent.emplace_back(random() % 3000, std::byte(random()));
    client.send(sent.back());
    if (i % 100 != 99) continue;
    REQUIRE(at_node.wait_messages(i - 50));
    relay.cut_after(random() % 50'000);
  }
  REQUIRE(at_node.wait_messages(count));
  CHECK(at_node.messages == sent);
  CHECK(at_driver.messages.begin()->second == sent);
  CHECK(relay.connections() > 3);
  CHECK(at_driver.lost.empty());
}

TEST_CASE("a node that closes while its connection is cut still says goodbye") {
  ServerRecorder at_driver;
  ControlServer server(server_options(), at_driver);
  Relay relay(server.endpoint());
  ClientRecorder at_node;
  ControlClient client(client_options(relay.endpoint()), at_node);
  REQUIRE(at_node.wait_joined());
  relay.cut();
  CHECK(client.close(long_enough));
  REQUIRE(at_driver.wait([&] { return !at_driver.left.empty() || !at_driver.lost.empty(); }));
  CHECK(at_driver.lost.empty());
}

TEST_CASE("a network that passes nothing on, or nothing any more, ends the session at both ends") {
  auto options = server_options();
  options.rules.timing = {.heartbeat = 50ms, .silence = 1s, .reconnect = 500ms, .acknowledge = 20ms};
  ServerRecorder at_driver;
  ControlServer server(options, at_driver);
  Relay relay(server.endpoint());
  ClientRecorder at_node;
  auto of_client = client_options(relay.endpoint());
  of_client.rules.timing = options.rules.timing;
  ControlClient client(of_client, at_node);
  REQUIRE(at_node.wait_joined());
  REQUIRE(at_driver.wait_joined(1));
  SECTION("silently") {
    relay.set_stalled(true);
    REQUIRE(at_node.wait_lost());
    CHECK_THAT(at_node.lost, Catch::Contains("was silent for "));
    REQUIRE(at_driver.wait([&] { return !at_driver.lost.empty(); }));
    CHECK_THAT(at_driver.lost[0], Catch::Contains("was silent for "));
  }
  SECTION("with its connections ended") {
    relay.set_dead(true);
    relay.cut();
    REQUIRE(at_node.wait_lost());
    CHECK_THAT(at_node.lost, Catch::EndsWith("0.500 s is allowed"));
    REQUIRE(at_driver.wait([&] { return !at_driver.lost.empty(); }));
    CHECK_THAT(at_driver.lost[0], Catch::EndsWith("0.500 s is allowed"));
  }
}

TEST_CASE("a node without a descriptor for a connection goes on trying, and is refused when its time is over") {
  const Tcp port = Tcp::reserved();
  ClientRecorder at_node;
  auto options = client_options(port.endpoint());
  options.join_limit = 2s;
  ControlClient client(options, at_node);
  allow_files(open_files() + 100);
  std::vector<Tcp> taken;
  while (!at_node.wait([&] { return !at_node.refused.empty(); }, 1ms)) {
    while (taken.empty() || taken.back().file() >= 0) taken.emplace_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    taken.pop_back();
  }
  taken.clear();
  allow_files(4000);
  CHECK_THAT(at_node.refused, Catch::Contains("2.000 s is allowed ("));
  CHECK_FALSE(at_node.joined);
}

TEST_CASE("nothing is left behind: no descriptor, and closing is quick") {
  const int before = open_files();
  for (int i = 0; i < 3; ++i) {
    ServerRecorder at_driver;
    ControlServer server(server_options(), at_driver);
    ClientRecorder at_node;
    ControlClient client(client_options(server.endpoint()), at_node);
    REQUIRE(at_node.wait_joined());
    const Tcp stranger = Tcp::connected(server.endpoint());
    const auto begin = std::chrono::steady_clock::now();
    server.close();
    client.close();
    CHECK(seconds_since(begin) < 30);
  }
  CHECK(open_files() == before);
}

}  // namespace
}  // namespace tandem::test
