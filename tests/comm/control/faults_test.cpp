// What networks, other programs and dying processes do to the control plane.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <random>

#include "comm/control/frame.h"
#include "comm/control/recorder.h"
#include "comm/control/relay.h"
#include "comm/control/sockets.h"

namespace tandem::test {
namespace {

using control::ControlClient;
using control::ControlServer;

/// Running control_party; killed in the end.
class Party {
 public:
  explicit Party(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), CONTROL_PARTY);
    std::vector<char*> pointers;
    for (auto& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    std::array<int, 2> pipe{};
    REQUIRE(::pipe2(pipe.data(), O_CLOEXEC) == 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe[1], STDOUT_FILENO);
    REQUIRE(::posix_spawn(&pid_, CONTROL_PARTY, &actions, nullptr, pointers.data(), environ) == 0);
    posix_spawn_file_actions_destroy(&actions);
    ::close(pipe[1]);
    out_ = ::fdopen(pipe[0], "r");
  }
  Party(const Party&) = delete;
  Party& operator=(const Party&) = delete;
  ~Party() {
    kill(SIGKILL);
    wait();
    std::fclose(out_);
  }

  pid_t pid() const { return pid_; }
  void kill(int signal) {
    if (!ended_) ::kill(pid_, signal);
  }
  int wait() {
    if (!ended_) ::waitpid(pid_, &status_, 0);
    ended_ = true;
    return status_;
  }
  std::string line() {
    std::array<char, 256> buffer{};
    if (std::fgets(buffer.data(), buffer.size(), out_) == nullptr) return "";
    std::string text = buffer.data();
    text.pop_back();
    return text;
  }

 private:
  pid_t pid_ = -1;
  std::FILE* out_ = nullptr;
  bool ended_ = false;
  int status_ = 0;
};

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
  node.kill(SIGKILL);
  // Of its own time: a machine that is starved of time adds more.
  STATIC_REQUIRE(control::Timing{}.reconnect < 3s);
  REQUIRE(at_driver.wait([&] { return !at_driver.lost.empty(); }));
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
  node.kill(SIGSTOP);
  REQUIRE(at_driver.wait([&] { return !at_driver.lost.empty(); }));
  CHECK_THAT(at_driver.lost[0], Catch::Contains(" was silent for ") && Catch::EndsWith("1.000 s is allowed"));
  node.kill(SIGCONT);
  const int status = node.wait();
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 3);
}

TEST_CASE("a driver that is killed is noticed by the end of its connection") {
  Party driver({"driver"});
  ClientRecorder at_node;
  ControlClient client(client_options(driver.line()), at_node);
  REQUIRE(at_node.wait_joined());
  driver.kill(SIGKILL);
  STATIC_REQUIRE(control::Timing{}.reconnect < 5s);
  REQUIRE(at_node.wait_lost());
  CHECK_THAT(at_node.lost, Catch::Contains("lost its connection") && Catch::EndsWith("1.500 s is allowed"));
}

TEST_CASE("a node whose connection is cut again and again resumes, and no message is lost or comes twice") {
  constexpr std::size_t count = 20'000;
  std::mt19937_64 random(Catch::rngSeed());
  ServerRecorder at_driver;
  ControlServer server(server_options(), at_driver);
  Relay relay(server.endpoint());
  ClientRecorder at_node;
  at_driver.answer = [&](const auto& node, const auto& message) { server.send(node, message); };
  ControlClient client(client_options(relay.endpoint()), at_node);
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

/// What follows the 64 bytes of ZMTP's greeting of a peer without security.
std::string zmtp(const std::string& rest) {
  std::string greeting("\xff\0\0\0\0\0\0\0\x01\x7f\x03\0NULL", 16);
  greeting.resize(64, '\0');
  return greeting + rest;
}

TEST_CASE("garbage on the control port is dropped and logged, and the run goes on (W4)") {
  std::mt19937_64 random(Catch::rngSeed());
  ServerRecorder at_driver;
  ControlServer server(server_options(), at_driver);
  ClientRecorder at_node;
  ControlClient client(client_options(server.endpoint()), at_node);
  REQUIRE(at_node.wait_joined());
  std::string noise(10'000, 0);
  for (char& c : noise) c = static_cast<char>(random());
  const std::string ready(
      "\x04\x1a\x05READY\x0bSocket-Type\0\0\0\x06"
      "DEALER",
      27);
  const std::vector<std::string> all = {
      noise,
      "GET / HTTP/1.1\r\nHost: driver\r\n\r\n",
      zmtp("").substr(0, 30),
      zmtp(noise),
      zmtp(ready.substr(0, 11)),
      zmtp(std::string("\x02\xff\xff\xff\xff\xff\xff\xff\xff", 9)),
  };
  for (const std::string& garbage : all) {
    const Tcp stranger = Tcp::connected(server.endpoint());
    REQUIRE(stranger.file() >= 0);
    stranger.write(garbage);
  }
  REQUIRE(at_driver.wait([&] { return !at_driver.refused.empty(); }));
  CHECK_THAT(at_driver.refused[0], Catch::StartsWith("somebody") && Catch::Contains(" is refused: "));
  client.send(bytes_of("still here"));
  REQUIRE(at_driver.wait_messages(1));
  CHECK(at_driver.joined.size() == 1);
  CHECK(at_driver.lost.empty());
}

TEST_CASE("messages of a ZeroMQ socket that are no frames, or of no known node, are dropped and logged (W4)") {
  ServerRecorder at_driver;
  ControlServer server(server_options(), at_driver);
  ClientRecorder at_node;
  ControlClient client(client_options(server.endpoint()), at_node);
  REQUIRE(at_node.wait_joined());
  zmq::context_t context;
  zmq::socket_t stranger(context, zmq::socket_type::dealer);
  stranger.set(zmq::sockopt::linger, 0);
  stranger.connect(server.endpoint());
  const auto say = [&](const std::vector<std::byte>& bytes) {
    stranger.send(zmq::buffer(bytes.data(), bytes.size()), zmq::send_flags::none);
  };
  for (int i = 0; i < 50; ++i) say(bytes_of("no frame"));
  auto unknown_kind = control::encode({1, 0, control::Goodbye{}});
  unknown_kind[6] = std::byte{77};
  say(unknown_kind);
  stranger.send(zmq::str_buffer("several"), zmq::send_flags::sndmore);
  stranger.send(zmq::str_buffer("parts"), zmq::send_flags::none);
  say(control::encode({1, 0, control::Data{}}));
  REQUIRE(at_driver.wait([&] { return at_driver.dropped.size() >= 4; }));
  CHECK(at_driver.dropped[0] == "a message of 8 bytes from 127.0.0.1");
  CHECK(at_driver.dropped[1] == "a frame of unknown kind 77 from 127.0.0.1 (49 such lines were left out before)");
  CHECK(at_driver.dropped[2] == "a message of 2 parts from 127.0.0.1");
  CHECK_THAT(at_driver.dropped[3], Catch::StartsWith("a frame from 127.0.0.1 on a connection without a hello"));
  zmq::message_t answer;
  REQUIRE(stranger.recv(answer));
  const auto decoded = control::decode({static_cast<const std::byte*>(answer.data()), answer.size()});
  CHECK(std::holds_alternative<control::Refuse>(std::get<control::Frame>(decoded).body));
  client.send(bytes_of("still here"));
  CHECK(at_driver.wait_messages(1));
  CHECK(at_driver.dropped.size() == 4);
}

TEST_CASE("a message longer than is allowed ends the connection that it comes on, and no other") {
  auto options = server_options();
  options.rules.largest_message = 1000;
  ServerRecorder at_driver;
  ControlServer server(options, at_driver);
  ClientRecorder at_node;
  ControlClient client(client_options(server.endpoint()), at_node);
  REQUIRE(at_node.wait_joined());
  // A last frame of 2000 bytes, by its long form.
  const std::string ready(
      "\x04\x1a\x05READY\x0bSocket-Type\0\0\0\x06"
      "DEALER",
      27);
  const Tcp stranger = Tcp::connected(server.endpoint());
  stranger.write(zmtp(ready + std::string("\x02\0\0\0\0\0\0\x07\xd0", 9) + std::string(2000, 'x')));
  CHECK(stranger.wait_closed());
  client.send(bytes_of("still here"));
  CHECK(at_driver.wait_messages(1));
}

int open_files() {
  int count = 0;
  for (int file = 0; file < 1024; ++file) count += ::fcntl(file, F_GETFD) != -1;
  return count;
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
