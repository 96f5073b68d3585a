// Looks for messages that break the control port: usage: control_fuzz [--seconds N] [--seed N]
//
// Messages are made from well-formed frames by random changes. Those that are taken in a way that none before was are
// kept and changed further. They go, in sequences, with connections that end and time that passes between them, to a
// driver and to a node. Each must
//   1. be decoded without reading beyond it (with a sanitizer, it lies in memory of just its size),
//   2. if it is a frame, have no bytes but those that the frame encodes to, and no text that would break a log,
//   3. leave a driver alive that goes on with another node, and a node alive or at an end that is told once.
// Prints what it has done, and exits 1 with the message and the seed if one of these does not hold.
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "comm/control/client_side.h"
#include "comm/control/frame.h"
#include "comm/control/server_side.h"
#include "comm/control/text.h"

namespace {

using namespace tandem::comm::control;
using Bytes = std::vector<std::byte>;
using Random = std::mt19937_64;

const Rules rules{.version = "1.0"};
const NodeInfo info{.version = "1.0", .host = "host7", .name = "left", .pid = 4711};
constexpr NodeId good_id{7, 7}, bad_id{1, 2};

[[noreturn]] void report(const char* what, const Bytes& input) {
  std::printf("FINDING: %s\ninput of %zu bytes:", what, input.size());
  for (const std::byte byte : input) std::printf(" %02x", std::to_integer<unsigned>(byte));
  std::printf("\n");
  std::exit(1);
}

std::vector<Bytes> seeds() {
  const std::string text = "some data";
  const auto data = std::as_bytes(std::span(text));
  return {encode({0, 0, Hello{info, bad_id, 0}}),
          encode({0, 3, Hello{info, bad_id, 99}}),
          encode({0, 0, Hello{info, good_id, 0}}),
          encode({0, 0, Welcome{5}}),
          encode({0, 5, Welcome{1}}),
          encode({0, 0, Refuse{"it runs version 0.2"}}),
          encode({1, 0, Data{data}}),
          encode({2, 1, Data{}}),
          encode({1, 0, Heartbeat{111, 222, 333}}),
          encode({0, 0, Heartbeat{}}),
          encode({0, 0, Goodbye{}}),
          encode({0, 0, Hello{info, bad_id, 0}}, 7),
          encode({0, 0, Refuse{"no"}}, 7)};
}

void put_number(Bytes& bytes, std::size_t at, std::uint64_t number, std::size_t size) {
  if (at + size <= bytes.size()) std::memcpy(bytes.data() + at, &number, size);
}

void change_once(Bytes& bytes, Random& random, const std::vector<Bytes>& corpus) {
  constexpr std::uint64_t edges[] = {
      0, 1, 2, 3, 6, 7, 127, 255, 1000, 1001, 65535, ~std::uint64_t{0}, std::uint64_t{1} << 63};
  const std::size_t at = bytes.empty() ? 0 : random() % bytes.size();
  const auto here = bytes.begin() + static_cast<std::ptrdiff_t>(at);
  switch (random() % 7) {
    case 0:
      if (!bytes.empty()) bytes[at] ^= std::byte(1 << random() % 8);
      break;
    case 1:
      if (!bytes.empty()) bytes[at] = std::byte(random());
      break;
    case 2:
      bytes.insert(here, random() % 20, std::byte(random()));
      break;
    case 3:
      bytes.erase(here, here + static_cast<std::ptrdiff_t>(random() % (bytes.size() - at + 1)));
      break;
    case 4:
      put_number(bytes, at, edges[random() % std::size(edges)], std::size_t{1} << random() % 4);
      break;
    case 5:  // a field of the header, at its place
      put_number(bytes, 8 * (random() % 4), edges[random() % std::size(edges)], 8);
      break;
    default: {
      const Bytes& other = corpus[random() % corpus.size()];
      bytes.erase(here, bytes.end());
      if (at < other.size()) bytes.insert(bytes.end(), other.begin() + static_cast<std::ptrdiff_t>(at), other.end());
    }
  }
}

Bytes changed(const Bytes& from, Random& random, const std::vector<Bytes>& corpus) {
  Bytes bytes = from;
  for (auto changes = random() % 4; changes > 0; --changes) change_once(bytes, random, corpus);
  // Otherwise hardly anything gets past the length.
  if (random() % 4 != 0 && bytes.size() >= sizeof(FrameHeader)) {
    put_number(bytes, offsetof(FrameHeader, length), bytes.size() - sizeof(FrameHeader), 8);
  }
  return {bytes.begin(), bytes.end()};
}

/// Of what kind a reason is: with # for each number.
std::string without_numbers(const std::string& reason) {
  std::string kind;
  for (const char c : reason) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit) kind += c;
    if (digit && !kind.ends_with('#')) kind += '#';
  }
  return kind;
}

/// Checks 1 and 2; returns in which way the message was taken.
std::string check_decoding(const Bytes& input) {
  const Decoded decoded = decode(input);
  if (const auto* malformed = std::get_if<Malformed>(&decoded)) {
    if (!is_text(malformed->why)) report("a reason that breaks a log", input);
    return without_numbers(malformed->why);
  }
  if (const auto* foreign = std::get_if<ForeignHello>(&decoded)) {
    if (!is_text(foreign->version)) report("a version that breaks a log", input);
    return "foreign";
  }
  const Frame& frame = std::get<Frame>(decoded);
  if (const auto* hello = std::get_if<Hello>(&frame.body)) {
    for (const std::string& text : {hello->info.version, hello->info.host, hello->info.name}) {
      if (!is_text(text)) report("a hello that breaks a log", input);
    }
  }
  std::uint16_t format = 0;
  std::memcpy(&format, input.data() + offsetof(FrameHeader, wire_format), sizeof(format));
  if (format == wire_format && encode(frame) != input) report("a frame that encodes to other bytes", input);
  return "kind " + std::to_string(frame.body.index()) + (format == wire_format ? "" : " foreign");
}

/// Seldom longer than a heartbeat, and now and then longer than all that is allowed.
Time some_time(Random& random) {
  const auto longest = random() % 50 == 0 ? 10'000'000'000 : 1'000'000;
  return Time(static_cast<std::int64_t>(random() % longest));
}

/// A driver with a node that does all right, and others on connections that anything comes from.
class Driver {
 public:
  explicit Driver(Random& random) : random_(random) {
    connect(good_, good_id);
    // From here on nobody may join in its stead who only knows its id.
    side_.receive(good_, "", "10.0.0.1", encode({++sent_, 0, Data{}}), now_);
  }

  void check(const Bytes& input) {
    std::string& connection = bad_[random_() % bad_.size()];
    if (connection.empty() || random_() % 20 == 0) {
      side_.disconnect(connection, now_);
      connect(connection, bad_id);
    }
    side_.receive(connection, "", "10.0.0.2", input, now_);
    side_.receive(good_, "", "10.0.0.1", encode({++sent_, 0, Data{}}), now_);
    if (random_() % 4 == 0) send_to_bad();
    look_at_events(input);
    now_ += some_time(random_);
    side_.receive(good_, "", "10.0.0.1", encode({sent_, 0, Heartbeat{}}), now_);
    side_.tick(now_);
    side_.take_outgoing(now_);
  }

 private:
  /// A new connection; on some of them a well-formed hello.
  void connect(std::string& connection, const NodeId& id) {
    connection = std::string("c").append(std::to_string(++connections_));
    if (id == good_id || random_() % 2 == 0) {
      side_.receive(connection, "", "10.0.0.2", encode({0, 0, Hello{info, id, 0}}), now_);
    }
  }

  void send_to_bad() {
    try {
      side_.send(bad_id, Bytes(random_() % 100));
    } catch (const ControlError&) {
      // It is not joined.
    }
  }

  void look_at_events(const Bytes& input) {
    bool came = false;
    for (const auto& event : side_.take_events()) {
      if (const auto* message = std::get_if<ServerSide::Message>(&event)) came |= message->node == good_id;
      const auto* lost = std::get_if<ServerSide::Lost>(&event);
      const auto* left = std::get_if<ServerSide::Left>(&event);
      if ((lost != nullptr && lost->node == good_id) || (left != nullptr && left->node == good_id)) {
        report("a node is lost by what another said", input);
      }
    }
    if (!came) report("the driver does not go on with another node", input);
  }

  Random& random_;
  Time now_ = 1s;
  ServerSide side_{rules, now_};
  std::uint64_t sent_ = 0;
  int connections_ = 0;
  std::string good_;
  std::array<std::string, 4> bad_;
};

/// A node whose driver may say anything.
class Node {
 public:
  explicit Node(Random& random) : random_(random) {}

  bool ended() const { return side_.ended(); }

  /// Not after its end.
  void check(const Bytes& input) {
    if (side_.wants_connection(now_)) connect();
    side_.receive(input, now_);
    if (random_() % 4 == 0) send();
    if (random_() % 50 == 0) side_.disconnect("cut", now_);
    if (random_() % 200 == 0) side_.say_goodbye();
    now_ += some_time(random_);
    side_.tick(now_);
    side_.take_outgoing(now_);
    for (const auto& event : side_.take_events()) {
      ends_ +=
          !std::holds_alternative<ClientSide::Joined>(event) && !std::holds_alternative<ClientSide::Message>(event);
    }
    if (ends_ != (side_.ended() ? 1 : 0)) report("a node's end is not told just once", input);
  }

 private:
  void send() {
    try {
      side_.send(Bytes(random_() % 100));
    } catch (const GoneError&) {
      // It has ended, or said goodbye.
    }
  }

  /// On most connections a well-formed welcome comes.
  void connect() {
    side_.connecting(now_);
    if (random_() % 4 != 0) side_.receive(encode({0, 0, Welcome{5}}), now_);
  }

  Random& random_;
  Time now_ = 1s;
  ClientSide side_{rules, info, "tcp://driver:1", 30s, now_};
  int ends_ = 0;
};

struct Arguments {
  int seconds = 5;
  std::uint64_t seed = std::random_device()();
};

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--seconds") arguments.seconds = std::atoi(argv[i + 1]);
    if (name == "--seed") arguments.seed = std::strtoull(argv[i + 1], nullptr, 10);
  }
  return arguments;
}

}  // namespace

int main(int argc, char** argv) {
  const auto [seconds, seed] = parse(argc, argv);
  std::printf("control_fuzz: --seed %llu, %d s\n", static_cast<unsigned long long>(seed), seconds);
  std::fflush(stdout);
  Random random(seed);
  std::vector<Bytes> corpus = seeds();
  std::map<std::string, long> ways;
  long inputs = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (std::chrono::steady_clock::now() < end) {
    // New ones now and then keep their books short.
    Driver driver(random);
    auto node = std::make_unique<Node>(random);
    for (int i = 0; i < 200; ++i, ++inputs) {
      const Bytes input = changed(corpus[random() % corpus.size()], random, corpus);
      if (++ways[check_decoding(input)] == 1) corpus.push_back(input);
      driver.check(input);
      if (node->ended()) node = std::make_unique<Node>(random);
      node->check(input);
    }
  }
  for (const auto& [way, count] : ways) std::printf("%10ld  %s\n", count, way.c_str());
  std::printf("%ld inputs, taken in %zu ways, no finding\n", inputs, ways.size());
  return ways.size() < 10 ? 1 : 0;
}
