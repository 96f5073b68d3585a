#include "comm/control/frame.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <random>

namespace tandem::comm::control {
namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

Frame hello() {
  const NodeInfo info{.version = "0.1.0",
                      .host = "host7",
                      .name = "left",
                      .pid = 4711,
                      .cores = 16,
                      .devices = 4,
                      .memory = 1ULL << 37};
  return {0, 17, Hello{info, {0x0123456789abcdefULL, 0xfedcba9876543210ULL}, 99}};
}

/// The data points into `data`.
std::vector<Frame> one_of_each(const Bytes& data) {
  return {hello(),
          {0, 5, Welcome{123456789}},
          {0, 0, Refuse{"it runs version 0.2"}},
          {7, 5, Data{data}},
          {7, 5, Heartbeat{111, 222, 333}},
          {7, 5, Goodbye{}}};
}

std::string malformed_text(const Bytes& bytes) {
  const Decoded decoded = decode(bytes);
  const auto* malformed = std::get_if<Malformed>(&decoded);
  return malformed == nullptr ? "" : malformed->why;
}

TEST_CASE("a frame of each kind decodes to what was encoded") {
  const Bytes data = bytes_of(GENERATE(std::string(), std::string("x"), std::string(100'000, 'y')));
  for (const Frame& frame : one_of_each(data)) {
    const Bytes bytes = encode(frame);
    const Decoded decoded = decode(bytes);
    REQUIRE(std::holds_alternative<Frame>(decoded));
    const Frame& back = std::get<Frame>(decoded);
    CHECK(back.sequence == frame.sequence);
    CHECK(back.acknowledged == frame.acknowledged);
    CHECK(back.body.index() == frame.body.index());
    CHECK(encode(back) == bytes);
  }
  const Bytes bytes = encode(hello());
  const Decoded decoded = decode(bytes);
  const Hello& back = std::get<Hello>(std::get<Frame>(decoded).body);
  CHECK(back.info.version == "0.1.0");
  CHECK(back.info.host == "host7");
  CHECK(back.info.name == "left");
  CHECK(back.info.pid == 4711);
  CHECK(back.info.cores == 16);
  CHECK(back.info.devices == 4);
  CHECK(back.info.memory == 1ULL << 37);
  CHECK(back.id == NodeId{0x0123456789abcdefULL, 0xfedcba9876543210ULL});
  CHECK(back.session == 99);
}

TEST_CASE("the bytes of a frame are those of the document") {
  const Bytes bytes = encode({0x0102, 0x0304, Data{bytes_of("ab")}});
  const std::array<unsigned char, 34> expected = {'T', 'D', 'M', 'c', 1, 0, 4, 0, 2, 1, 0, 0, 0, 0, 0, 0,   4,
                                                  3,   0,   0,   0,   0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 'a', 'b'};
  REQUIRE(bytes.size() == expected.size());
  CHECK(std::memcmp(bytes.data(), expected.data(), expected.size()) == 0);
}

TEST_CASE("no truncation and no extension of a frame is a frame") {
  const Bytes data = bytes_of("some data");
  for (const Frame& frame : one_of_each(data)) {
    Bytes bytes = encode(frame);
    bytes.push_back(std::byte{0});
    CHECK(std::holds_alternative<Malformed>(decode(bytes)));
    bytes.pop_back();
    while (!bytes.empty()) {
      bytes.pop_back();
      CHECK(std::holds_alternative<Malformed>(decode(bytes)));
    }
  }
}

TEST_CASE("no frame is longer than is said, however small the messages") {
  const std::string longest(2 * longest_text, 'a');
  NodeInfo info{.version = longest, .host = longest, .name = longest};
  CHECK(encode({0, 0, Hello{info, {}, 0}}).size() == longest_frame(1));
  CHECK(encode({1, 0, Data{Bytes(10'000)}}).size() == longest_frame(10'000));
}

TEST_CASE("what breaks a rule of the format is told apart") {
  const auto changed = [](std::size_t at, int value) {
    Bytes bytes = encode({7, 5, Heartbeat{}});
    bytes[at] = static_cast<std::byte>(value);
    return bytes;
  };
  CHECK(malformed_text({}) == "a message of 0 bytes");
  CHECK(malformed_text(changed(0, 'X')) == "a message that is not a frame");
  CHECK(malformed_text(changed(4, 2)) == "a frame of wire format 2");
  CHECK(malformed_text(changed(6, 0)) == "a frame of unknown kind 0");
  CHECK(malformed_text(changed(6, 200)) == "a frame of unknown kind 200");
  CHECK(malformed_text(changed(7, 1)) == "a frame with a reserved byte in use");
  CHECK(malformed_text(changed(24, 25)) == "a frame that announces 25 bytes and has 24");
  CHECK(malformed_text(changed(31, 255)) != "");
  CHECK(malformed_text(encode({0, 0, Data{}})) == "data without a number");
  CHECK(malformed_text(encode({1, 0, Welcome{1}})) == "a numbered frame of a kind without numbers");
  CHECK(malformed_text(encode({0, 0, Welcome{0}})) == "a welcome without a session");
  CHECK(malformed_text(encode({0, 0, Welcome{.session = 1, .heartbeat = Time(0)}})) ==
        "a welcome with times out of range");
  CHECK(malformed_text(encode({0, 0, Welcome{.session = 1, .silence = std::chrono::hours(25)}})) ==
        "a welcome with times out of range");
}

TEST_CASE("a node is named by its own name where it has one, and by its host") {
  NodeInfo node{.version = "1.0", .host = "host7", .name = "left", .pid = 4711};
  CHECK(name_of(node) == "node left (host host7, pid 4711)");
  node.name = "host7";
  CHECK(name_of(node) == "node host7 (pid 4711)");
  node.name = "";
  CHECK(name_of(node) == "node host7 (pid 4711)");
  CHECK(this_node("1.0").name == this_node("1.0").host);
  CHECK(this_node("1.0").devices == 0);
  CHECK(this_node("1.0", "left", 3).name == "left");
  CHECK(this_node("1.0", "left", 3).devices == 3);
}

TEST_CASE("a text is UTF-8 without control characters, and of anything else one is made") {
  const auto [bytes, text] = GENERATE(table<std::string, std::string>({
      {"", ""},
      {"plain ~", "plain ~"},
      {"gr\xc3\xb6\xc3\x9f\xe2\x82\xac\xf0\x9f\x9a\x80", "gr\xc3\xb6\xc3\x9f\xe2\x82\xac\xf0\x9f\x9a\x80"},
      {"a\nb\x1b[2J\x7f", "a?b?[2J?"},
      {"\xc2\x9b", "??"},                   // a control character of two bytes
      {"\xc0\xaf \xe0\x80\xaf", "?? ???"},  // longer than needed
      {"\xed\xa0\x80", "???"},              // half of a pair in UTF-16
      {"\xf4\x90\x80\x80", "????"},         // beyond the last character
      {"\xc3", "?"},
      {"\xe2\x82", "??"},
      {"\x80 \xff", "? ?"},
  }));
  CHECK(is_text(bytes) == (bytes == text));
  CHECK(to_text(bytes) == text);
  CHECK(is_text(text));
  const std::string euros = to_text(std::string(longest_text - 1, 'a') + "\xe2\x82\xac");
  CHECK(euros == std::string(longest_text - 1, 'a'));
  CHECK_FALSE(is_text(std::string(longest_text + 1, 'a')));
}

TEST_CASE("texts neither break the frame nor the log") {
  const Bytes bytes = encode({0, 0, Refuse{std::string(5000, 'a') + "\n"}});
  const Decoded decoded = decode(bytes);
  CHECK(std::get<Refuse>(std::get<Frame>(decoded).body).reason == std::string(longest_text, 'a'));
  Bytes with_newline = encode({0, 0, Refuse{"a\nb"}});
  const Decoded replaced = decode(with_newline);
  CHECK(std::get<Refuse>(std::get<Frame>(replaced).body).reason == "a?b");
  with_newline[sizeof(FrameHeader) + 3] = std::byte{'\n'};
  CHECK(malformed_text(with_newline) == "a refuse with an ill-formed payload");
}

TEST_CASE("a hello and a refuse of another wire format are understood as far as it takes to refuse") {
  Bytes foreign = encode(hello(), 7);
  foreign.erase(foreign.end() - 20, foreign.end());
  foreign[7] = std::byte{1};
  const Decoded decoded = decode(foreign);
  REQUIRE(std::holds_alternative<ForeignHello>(decoded));
  CHECK(std::get<ForeignHello>(decoded).wire_format == 7);
  CHECK(std::get<ForeignHello>(decoded).version == "0.1.0");
  Bytes refuse = encode({0, 0, Refuse{"no"}}, 7);
  refuse.push_back(std::byte{42});
  const Decoded refused = decode(refuse);
  REQUIRE(std::holds_alternative<Frame>(refused));
  CHECK(std::get<Refuse>(std::get<Frame>(refused).body).reason == "no");
}

TEST_CASE("whatever comes in is decoded without reading beyond it, and what is a frame is encoded to the same bytes") {
  std::mt19937_64 random(Catch::rngSeed());
  const Bytes data = bytes_of("some data");
  const std::vector<Frame> frames = one_of_each(data);
  int well_formed = 0;
  for (int i = 0; i < 20'000; ++i) {
    // Exactly as long as it is, so that a sanitizer sees a step beyond its end.
    Bytes bytes = encode(frames[random() % frames.size()]);
    for (auto changes = random() % 3; changes > 0; --changes) bytes[random() % bytes.size()] = std::byte(random());
    if (random() % 4 == 0) bytes.resize(random() % (bytes.size() + 1));
    const Bytes exact(bytes.begin(), bytes.end());
    const Decoded decoded = decode(exact);
    if (const auto* frame = std::get_if<Frame>(&decoded);
        frame != nullptr && exact[4] == std::byte{1} && exact[5] == std::byte{0}) {
      ++well_formed;
      REQUIRE(encode(*frame) == exact);
    }
  }
  CHECK(well_formed > 1000);
}

}  // namespace
}  // namespace tandem::comm::control
