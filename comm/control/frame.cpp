#include "comm/control/frame.h"

#include <cstring>
#include <optional>
#include <string_view>

namespace tandem::comm::control {
namespace {

using Bytes = std::span<const std::byte>;

/// Takes values off the front of bytes. What is not there comes out as nothing.
class Reader {
 public:
  explicit Reader(Bytes bytes) : rest_(bytes) {}

  template <typename Value>
  std::optional<Value> take() {
    static_assert(std::is_trivially_copyable_v<Value>);
    if (rest_.size() < sizeof(Value)) return std::nullopt;
    Value value;
    std::memcpy(&value, rest_.data(), sizeof(Value));
    rest_ = rest_.subspan(sizeof(Value));
    return value;
  }

  std::optional<std::string> take_text() {
    const auto length = take<std::uint16_t>();
    if (!length || *length > rest_.size()) return std::nullopt;
    const std::string_view text(reinterpret_cast<const char*>(rest_.data()), *length);
    if (!is_text(text)) return std::nullopt;
    rest_ = rest_.subspan(*length);
    return std::string(text);
  }

  bool at_end() const { return rest_.empty(); }

 private:
  Bytes rest_;
};

class Writer {
 public:
  template <typename Value>
  void put(const Value& value) {
    put_bytes(std::as_bytes(std::span(&value, 1)));
  }

  void put_bytes(Bytes bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }

  void put_text(const std::string& bytes) {
    const std::string text = to_text(bytes);
    put(static_cast<std::uint16_t>(text.size()));
    put_bytes(std::as_bytes(std::span(text)));
  }

  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

Decoded decode_hello(const FrameHeader& header, Bytes payload) {
  Reader reader(payload);
  const auto version = reader.take_text();
  const auto host = version ? reader.take_text() : std::nullopt;
  const auto name = host ? reader.take_text() : std::nullopt;
  const auto numbers = name ? reader.take<HelloNumbers>() : std::nullopt;
  if (!numbers || !reader.at_end()) return Malformed{"a hello with an ill-formed payload"};
  const NodeInfo info{.version = *version,
                      .host = *host,
                      .name = *name,
                      .pid = numbers->pid,
                      .cores = numbers->cores,
                      .devices = numbers->devices,
                      .memory = numbers->memory};
  return Frame{header.sequence, header.acknowledged, Hello{info, numbers->id, numbers->session}};
}

Decoded decode_refuse(const FrameHeader& header, Bytes payload, bool whole) {
  Reader reader(payload);
  const auto reason = reader.take_text();
  if (!reason || (whole && !reader.at_end())) return Malformed{"a refuse with an ill-formed payload"};
  return Frame{header.sequence, header.acknowledged, Refuse{*reason}};
}

/// Kinds whose payload is one struct.
template <typename Numbers, typename Body>
Decoded decode_numbers(const FrameHeader& header, Bytes payload, const char* kind) {
  Reader reader(payload);
  const auto numbers = reader.take<Numbers>();
  if (!numbers || !reader.at_end()) {
    return Malformed{std::string("a ") + kind + " with a payload of " + std::to_string(payload.size()) + " bytes"};
  }
  return Frame{header.sequence, header.acknowledged, std::bit_cast<Body>(*numbers)};
}

Decoded decode_foreign(const FrameHeader& header, Bytes payload) {
  if (header.kind == Kind::refuse) return decode_refuse(header, payload, false);
  const auto version = header.kind == Kind::hello ? Reader(payload).take_text() : std::nullopt;
  if (!version) return Malformed{"a frame of wire format " + std::to_string(header.wire_format)};
  return ForeignHello{header.wire_format, *version};
}

const char* sequence_fault(Kind kind, std::uint64_t sequence) {
  const bool numberless = kind == Kind::hello || kind == Kind::welcome || kind == Kind::refuse;
  if (numberless && sequence != 0) return "a numbered frame of a kind without numbers";
  if (kind == Kind::data && sequence == 0) return "data without a number";
  return nullptr;
}

const char* welcome_fault(const Welcome& welcome) {
  if (welcome.session == 0) return "a welcome without a session";
  for (const Time time : {welcome.heartbeat, welcome.silence, welcome.reconnect}) {
    if (time <= Time::zero() || time > longest_timing) return "a welcome with times out of range";
  }
  return nullptr;
}

Decoded decode_payload(const FrameHeader& header, Bytes payload) {
  switch (header.kind) {
    case Kind::hello:
      return decode_hello(header, payload);
    case Kind::welcome:
      return decode_numbers<WelcomeNumbers, Welcome>(header, payload, "welcome");
    case Kind::refuse:
      return decode_refuse(header, payload, true);
    case Kind::data:
      return Frame{header.sequence, header.acknowledged, Data{payload}};
    case Kind::heartbeat:
      return decode_numbers<HeartbeatTimes, Heartbeat>(header, payload, "heartbeat");
    case Kind::goodbye:
      if (!payload.empty()) return Malformed{"a goodbye with a payload"};
      return Frame{header.sequence, header.acknowledged, Goodbye{}};
  }
  return Malformed{"a frame of unknown kind " + std::to_string(static_cast<int>(header.kind))};
}

/// Puts the payload and says which kind it is of.
struct PayloadWriter {
  Writer& to;

  Kind operator()(const Hello& hello) const {
    to.put_text(hello.info.version);
    to.put_text(hello.info.host);
    to.put_text(hello.info.name);
    to.put(HelloNumbers{.id = hello.id,
                        .session = hello.session,
                        .pid = hello.info.pid,
                        .memory = hello.info.memory,
                        .cores = hello.info.cores,
                        .devices = hello.info.devices});
    return Kind::hello;
  }
  Kind operator()(const Welcome& welcome) const {
    to.put(std::bit_cast<WelcomeNumbers>(welcome));
    return Kind::welcome;
  }
  Kind operator()(const Refuse& refuse) const {
    to.put_text(refuse.reason);
    return Kind::refuse;
  }
  Kind operator()(const Data& data) const {
    to.put_bytes(data.bytes);
    return Kind::data;
  }
  Kind operator()(const Heartbeat& heartbeat) const {
    to.put(heartbeat);
    return Kind::heartbeat;
  }
  Kind operator()(const Goodbye&) const { return Kind::goodbye; }
};

}  // namespace

Decoded decode(std::span<const std::byte> bytes, std::uint16_t format) {
  const auto header = Reader(bytes).take<FrameHeader>();
  if (!header) return Malformed{"a message of " + std::to_string(bytes.size()) + " bytes"};
  if (header->magic != FrameHeader::magic_number) return Malformed{"a message that is not a frame"};
  const Bytes payload = bytes.subspan(sizeof(FrameHeader));
  if (header->wire_format != format) return decode_foreign(*header, payload);
  if (header->reserved != 0) return Malformed{"a frame with a reserved byte in use"};
  if (header->length != payload.size()) {
    return Malformed{"a frame that announces " + std::to_string(header->length) + " bytes and has " +
                     std::to_string(payload.size())};
  }
  if (const char* fault = sequence_fault(header->kind, header->sequence)) return Malformed{fault};
  Decoded decoded = decode_payload(*header, payload);
  if (const auto* frame = std::get_if<Frame>(&decoded)) {
    const auto* welcome = std::get_if<Welcome>(&frame->body);
    if (const char* fault = welcome == nullptr ? nullptr : welcome_fault(*welcome)) return Malformed{fault};
  }
  return decoded;
}

std::vector<std::byte> encode(const Frame& frame, std::uint16_t format) {
  Writer writer;
  writer.put(FrameHeader{});
  const Kind kind = std::visit(PayloadWriter{writer}, frame.body);
  std::vector<std::byte> bytes = writer.take();
  const FrameHeader header{.wire_format = format,
                           .kind = kind,
                           .sequence = frame.sequence,
                           .acknowledged = frame.acknowledged,
                           .length = bytes.size() - sizeof(FrameHeader)};
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

}  // namespace tandem::comm::control
