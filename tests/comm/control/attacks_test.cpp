// What comes from others than nodes to the control port, by accident or ill will.
#include <catch2/catch.hpp>
#include <random>

#include "comm/control/frame.h"
#include "comm/control/party_process.h"
#include "comm/control/recorder.h"
#include "comm/control/relay.h"
#include "comm/control/sockets.h"

namespace tandem::test {
namespace {

using control::ControlClient;
using control::ControlServer;

/// What follows the 64 bytes of ZMTP's greeting of a peer without security.
std::string zmtp(const std::string& rest) {
  std::string greeting("\xff\0\0\0\0\0\0\0\x01\x7f\x03\0NULL", 16);
  greeting.resize(64, '\0');
  return greeting + rest;
}

/// A property of its connection, as a peer without security says it.
std::string property(const std::string& name, const std::string& value) {
  return static_cast<char>(name.size()) + name + std::string(3, '\0') + static_cast<char>(value.size()) + value;
}

/// The command by which such a peer ends its handshake.
std::string ready(const std::string& more_properties = "") {
  const std::string body = "\x05READY" + property("Socket-Type", "DEALER") + more_properties;
  return "\x04" + std::string(1, static_cast<char>(body.size())) + body;
}

/// What is sent before the other side has ended it too would be a breach of ZMTP.
void shake_hands(const Tcp& socket, const std::string& more_properties = "") {
  socket.write(zmtp(ready(more_properties)));
  REQUIRE(socket.read_until("READY"));
}

/// A message of one part, of at most 255 bytes.
std::string message(const std::vector<std::byte>& bytes) {
  return std::string(1, '\0') + static_cast<char>(bytes.size()) + text_of(bytes);
}

/// A socket of ZeroMQ that says what it likes.
class Stranger {
 public:
  explicit Stranger(const std::string& endpoint, const std::string& name = "") {
    socket_.set(zmq::sockopt::linger, 0);
    socket_.set(zmq::sockopt::rcvtimeo, 30'000);
    if (!name.empty()) socket_.set(zmq::sockopt::routing_id, name);
    socket_.connect(endpoint);
  }

  void say(const std::vector<std::byte>& bytes) {
    socket_.send(zmq::buffer(bytes.data(), bytes.size()), zmq::send_flags::none);
  }
  /// The reason of the refuse that comes next; empty if something else or nothing comes.
  std::string refusal() {
    zmq::message_t answer;
    if (!socket_.recv(answer)) return "";
    const auto decoded = control::decode({static_cast<const std::byte*>(answer.data()), answer.size()});
    const auto* frame = std::get_if<control::Frame>(&decoded);
    const auto* refuse = frame == nullptr ? nullptr : std::get_if<control::Refuse>(&frame->body);
    return refuse == nullptr ? "" : refuse->reason;
  }
  zmq::socket_t& socket() { return socket_; }

 private:
  zmq::context_t context_;
  zmq::socket_t socket_{context_, zmq::socket_type::dealer};
};

control::Hello hello_of(const control::NodeId& id, std::uint64_t session = 0) {
  return {control::this_node("1.0"), id, session};
}

/// A driver with a node that is joined.
struct Run {
  Run(const control::ServerOptions& options = server_options()) : server(options, at_driver) {
    REQUIRE(at_node.wait_joined());
    REQUIRE(at_driver.wait_joined(1));
  }

  /// The node is still there, can be talked with, and nobody else is.
  void check_goes_on() {
    const std::size_t before = at_node.messages.size();
    client.send(bytes_of("still here"));
    REQUIRE(at_driver.wait_messages(before + 1));
    server.send(at_driver.joined[0].first, bytes_of("still here"));
    REQUIRE(at_node.wait_messages(before + 1));
    CHECK(at_driver.joined.size() == 1);
    CHECK(at_driver.lost.empty());
    CHECK(at_node.lost.empty());
  }

  ServerRecorder at_driver;
  ControlServer server;
  ClientRecorder at_node;
  ControlClient client{client_options(server.endpoint()), at_node};
};

TEST_CASE("garbage on the control port is dropped and logged, and the run goes on") {
  std::mt19937_64 random(Catch::rngSeed());
  Run run;
  std::string noise(10'000, 0);
  for (char& c : noise) c = static_cast<char>(random());
  const std::vector<std::string> all = {
      noise,
      "GET / HTTP/1.1\r\nHost: driver\r\nUser-Agent: " + std::string(500, 'x') + "\r\n\r\n",
      zmtp("").substr(0, 30),
      zmtp(noise),
      zmtp(ready().substr(0, 11)),
      zmtp(std::string("\x02\xff\xff\xff\xff\xff\xff\xff\xff", 9)),
  };
  for (const std::string& garbage : all) {
    const Tcp stranger = Tcp::connected(run.server.endpoint());
    REQUIRE(stranger.file() >= 0);
    stranger.write(garbage);
  }
  REQUIRE(run.at_driver.wait([&] { return !run.at_driver.refused.empty(); }));
  CHECK_THAT(run.at_driver.refused[0], Catch::StartsWith("somebody") && Catch::Contains(" is refused: "));
  run.check_goes_on();
}

TEST_CASE("messages of a ZeroMQ socket that are no frames, or of no known node, are dropped and logged") {
  Run run;
  Stranger stranger(run.server.endpoint());
  for (int i = 0; i < 50; ++i) stranger.say(bytes_of("no frame"));
  auto unknown_kind = control::encode({1, 0, control::Goodbye{}});
  unknown_kind[6] = std::byte{77};
  stranger.say(unknown_kind);
  stranger.socket().send(zmq::str_buffer("several"), zmq::send_flags::sndmore);
  stranger.socket().send(zmq::str_buffer("parts"), zmq::send_flags::none);
  stranger.say(control::encode({1, 0, control::Data{}}));
  REQUIRE(run.at_driver.wait([&] { return run.at_driver.dropped.size() >= 4; }));
  CHECK(run.at_driver.dropped[0] == "a message of 8 bytes from 127.0.0.1");
  CHECK(run.at_driver.dropped[1] == "a frame of unknown kind 77 from 127.0.0.1 (49 such lines were left out before)");
  CHECK(run.at_driver.dropped[2] == "a message of 2 parts from 127.0.0.1");
  CHECK_THAT(run.at_driver.dropped[3], Catch::StartsWith("a frame from 127.0.0.1 on a connection without a hello"));
  CHECK(stranger.refusal() == "no node is joined on this connection");
  run.check_goes_on();
  CHECK(run.at_driver.dropped.size() == 4);
}

TEST_CASE("a message longer than is allowed ends the connection that it comes on, and no other") {
  auto options = server_options();
  options.rules.largest_message = 1000;
  Run run(options);
  // A last frame of 10,000 bytes, by its long form.
  const Tcp stranger = Tcp::connected(run.server.endpoint());
  shake_hands(stranger);
  stranger.write(std::string("\x02\0\0\0\0\0\0\x27\x10", 9) + std::string(10'000, 'x'));
  CHECK(stranger.wait_closed());
  run.check_goes_on();
}

TEST_CASE("a connection that names itself, as another may after it, is not listened to") {
  Run run;
  Stranger stranger(run.server.endpoint(), "me");
  for (int i = 0; i < 10; ++i) stranger.say(control::encode({0, 0, hello_of({1, 2})}));
  REQUIRE(run.at_driver.wait([&] { return !run.at_driver.dropped.empty(); }));
  run.check_goes_on();
  CHECK(run.at_driver.dropped ==
        std::vector<std::string>{"a message from 127.0.0.1 on a connection that names itself"});
}

TEST_CASE("what a node without keys claims to be its key or its address is not believed") {
  ServerRecorder at_driver;
  ControlServer server(server_options(), at_driver);
  const Tcp stranger = Tcp::connected(server.endpoint());
  shake_hands(stranger, property("User-Id", "trusted\n\x1b[2J") + property("Peer-Address", "10.0.0.1"));
  stranger.write(message(bytes_of("none")) + message(control::encode({0, 0, hello_of({1, 2})})));
  REQUIRE(at_driver.wait_joined(1));
  CHECK(at_driver.keys[0].empty());
  CHECK(at_driver.dropped == std::vector<std::string>{"a message of 4 bytes from 127.0.0.1"});
}

TEST_CASE("a second node with the id of another is refused, logged once, and the first goes on") {
  Run run;
  const control::NodeId id = run.at_driver.joined[0].first;
  const std::uint64_t session = GENERATE(0, 4711);
  for (int i = 0; i < 10; ++i) {
    // What the first has taken by then is acknowledged.
    run.check_goes_on();
    Stranger stranger(run.server.endpoint());
    stranger.say(control::encode({0, 0, hello_of(id, session)}));
    CHECK(stranger.refusal() == "another node has joined under its identity");
  }
  run.check_goes_on();
  CHECK(run.at_driver.refused == std::vector<std::string>{control::name_of(run.at_driver.joined[0].second) +
                                                          " is refused: another node has joined under its identity"});
}

TEST_CASE("what was recorded of a session and is said again joins nobody and delivers nothing") {
  const bool has_keys = GENERATE(true, false);
  const comm::KeyPair driver = comm::make_key_pair(), node = comm::make_key_pair();
  auto of_server = server_options();
  if (has_keys) of_server.keys = {driver, {node.public_key}};
  ServerRecorder at_driver;
  ControlServer server(of_server, at_driver);
  Relay relay(server.endpoint());
  auto of_client = client_options(relay.endpoint());
  if (has_keys) of_client.keys = {node, driver.public_key};
  ClientRecorder at_node;
  ControlClient client(of_client, at_node);
  client.send(bytes_of("train"));
  REQUIRE(at_driver.wait_messages(1));
  const std::string recorded = relay.said_by_nodes();
  for (int i = 0; i < 5; ++i) {
    const Tcp replayed = Tcp::connected(server.endpoint());
    replayed.write(recorded);
    // A driver with keys ends the connection; one without answers, and leaves it to the other side.
    if (has_keys) CHECK(replayed.wait_closed());
    REQUIRE(at_driver.wait([&] { return !at_driver.refused.empty(); }));
  }
  client.send(bytes_of("on"));
  REQUIRE(at_driver.wait_messages(2));
  // Nothing more is told of from here on.
  server.close();
  CHECK(at_driver.joined.size() == 1);
  CHECK(at_driver.messages.begin()->second.size() == 2);
  CHECK(at_driver.lost.empty());
  // One more where a connection was gone before it was known where from.
  CHECK(at_driver.refused.size() <= 2);
}

TEST_CASE("while a flood of connections is there a node goes on and another joins; after it nothing is left") {
  const int before = open_files();
  const int count = std::min(3000, allow_files(4000) - 500);
  {
    Run run;
    Party flood({"flood", run.server.endpoint(), std::to_string(count)});
    REQUIRE(flood.line() == std::to_string(count));
    run.check_goes_on();
    ClientRecorder at_other;
    ControlClient other(client_options(run.server.endpoint()), at_other);
    REQUIRE(at_other.wait_joined());
    CHECK(other.close(long_enough));
    flood.kill(SIGKILL);
    CHECK(run.client.close(long_enough));
    CHECK(run.at_driver.lost.empty());
    // A line for each would be a flood as well.
    CHECK(run.at_driver.refused.size() <= 1);
  }
  CHECK(open_files() == before);
}

TEST_CASE("a driver whose descriptors a flood of connections uses up goes on, and takes nodes in after it") {
  Party driver({"driver", "100"});
  const std::string endpoint = driver.line();
  ClientRecorder at_node;
  ControlClient client(client_options(endpoint), at_node);
  REQUIRE(at_node.wait_joined());
  {
    std::vector<Tcp> flood;
    for (int i = 0; i < 150; ++i) flood.push_back(Tcp::connected(endpoint));
    client.send(bytes_of("still here"));
    // A heartbeat or two.
    CHECK_FALSE(at_node.wait_lost(2s));
  }
  ClientRecorder at_other;
  ControlClient other(client_options(endpoint), at_other);
  REQUIRE(at_other.wait_joined());
  CHECK(client.close(long_enough));
}

}  // namespace
}  // namespace tandem::test
