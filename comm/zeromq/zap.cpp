#include "comm/zeromq/zap.h"

#include <array>
#include <cstdint>
#include <string_view>

#include "comm/keys.h"
#include "comm/zeromq/sockets.h"

namespace tandem::comm::zeromq {
namespace {

// The parts of a request, in order.
enum Part { version, request, domain, address, routing_id, mechanism, credentials, parts };

constexpr std::size_t key_bytes = 32;

/// In Z85; empty if it is not a key.
std::string key_of(const zmq::message_t& message) {
  if (message.size() != key_bytes) return "";
  std::array<char, key_characters + 1> text{};
  zmq_z85_encode(text.data(), static_cast<const std::uint8_t*>(message.data()), key_bytes);
  return text.data();
}

void put(std::vector<zmq::message_t>& reply, std::string_view text) { reply.emplace_back(text.data(), text.size()); }

}  // namespace

ZapHandler::ZapHandler(zmq::context_t& context) : requests_(context, zmq::socket_type::rep) {
  requests_.set(zmq::sockopt::linger, 0);
  requests_.bind("inproc://zeromq.zap.01");
}

void ZapHandler::accept(const std::vector<std::string>& keys) { accepted_.insert(keys.begin(), keys.end()); }

std::vector<std::string> ZapHandler::answer() {
  std::vector<std::string> refused;
  for (auto asked = receive_message(requests_); !asked.empty(); asked = receive_message(requests_)) {
    const bool whole = asked.size() == parts && asked[mechanism].to_string_view() == "CURVE";
    const std::string key = whole ? key_of(asked[credentials]) : "";
    const bool accept = accepted_.contains(key);
    if (!accept) {
      refused.push_back("a node at " + (whole ? asked[address].to_string() : std::string("an unknown address")) +
                        " with the public key " + key);
    }
    std::vector<zmq::message_t> reply;
    put(reply, "1.0");
    put(reply, asked.size() > request ? asked[request].to_string_view() : std::string_view());
    put(reply, accept ? "200" : "400");
    put(reply, accept ? "OK" : "the key is not accepted");
    put(reply, accept ? key : std::string());
    put(reply, "");
    send_message(requests_, std::move(reply));
  }
  return refused;
}

}  // namespace tandem::comm::zeromq
