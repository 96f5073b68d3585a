#include "comm/zeromq/sockets.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <limits>
#include <system_error>
#include <utility>

#include "comm/endpoint.h"

namespace tandem::comm::zeromq {
namespace {

/// Even what never waits fails with EINTR if a signal comes to this thread.
template <typename Call>
auto uninterrupted(const Call& call) {
  for (;;) {
    try {
      return call();
    } catch (const zmq::error_t& error) {
      if (error.num() != EINTR) throw;
    }
  }
}

}  // namespace

Wakeup::Wakeup() : file_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (file_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
}

Wakeup::~Wakeup() { ::close(file_); }

void Wakeup::wake() {
  const std::uint64_t one = 1;
  // Fails only if it is awake 2^64 - 1 times already.
  [[maybe_unused]] const ssize_t written = ::write(file_, &one, sizeof(one));
}

void Wakeup::clear() {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t taken = ::read(file_, &count, sizeof(count));
}

Monitor::Monitor(zmq::context_t& context, zmq::socket_t& socket)
    : watched_(socket), events_(context, zmq::socket_type::pair) {
  static std::atomic<std::uint64_t> monitors = 0;
  const std::string name = "inproc://events-" + std::to_string(++monitors);
  events_.set(zmq::sockopt::rcvhwm, 0);
  events_.set(zmq::sockopt::linger, 0);
  if (zmq_socket_monitor(watched_.handle(), name.c_str(), ZMQ_EVENT_ALL) != 0) throw zmq::error_t();
  events_.connect(name);
}

Monitor::~Monitor() { zmq_socket_monitor(watched_.handle(), nullptr, 0); }

std::optional<Monitor::Event> Monitor::next() {
  const std::vector<zmq::message_t> parts = receive_message(events_);
  if (parts.empty() || parts.front().size() != sizeof(std::uint16_t) + sizeof(std::int32_t)) return std::nullopt;
  Event event{};
  const auto* bytes = static_cast<const std::byte*>(parts.front().data());
  std::memcpy(&event.what, bytes, sizeof(event.what));
  std::memcpy(&event.value, bytes + sizeof(event.what), sizeof(event.value));
  if (parts.size() > 1) event.endpoint = parts[1].to_string();
  return event;
}

bool receive_part(zmq::socket_t& socket, zmq::message_t& part) {
  return uninterrupted([&] { return socket.recv(part, zmq::recv_flags::dontwait); }).has_value();
}

std::vector<zmq::message_t> receive_message(zmq::socket_t& socket) {
  std::vector<zmq::message_t> parts;
  for (bool more = true; more;) {
    zmq::message_t part;
    // A message comes whole: the parts after the first are there.
    if (!receive_part(socket, part)) break;
    more = part.more();
    parts.push_back(std::move(part));
  }
  return parts;
}

bool send_message(zmq::socket_t& socket, std::vector<zmq::message_t> parts) {
  try {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto more = i + 1 < parts.size() ? zmq::send_flags::sndmore : zmq::send_flags::none;
      if (!uninterrupted([&] { return socket.send(parts[i], more | zmq::send_flags::dontwait); })) return false;
    }
  } catch (const zmq::error_t& error) {
    if (error.num() != EHOSTUNREACH) throw;
    return false;
  }
  return true;
}

void wait_for(std::vector<zmq_pollitem_t>& items, Duration timeout) {
  constexpr Duration longest = std::chrono::hours(1);
  const auto milliseconds =
      std::chrono::ceil<std::chrono::milliseconds>(std::clamp(timeout, Duration::zero(), longest));
  if (zmq_poll(items.data(), static_cast<int>(items.size()), milliseconds.count()) < 0) {
    if (zmq_errno() != EINTR) throw zmq::error_t();
    for (zmq_pollitem_t& item : items) item.revents = 0;
  }
}

std::string failure_text(const Monitor::Event& event) {
  switch (event.what) {
    case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
      return "the key is not accepted";
    case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
      if (event.value == ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH) return "one side uses keys, the other does not";
      if (event.value == ZMQ_PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC) return "the keys of the two sides do not fit";
      return "what came does not follow ZeroMQ's protocol";
    default:
      return "the connection ended before the two sides had agreed";
  }
}

std::string property(const zmq::message_t& message, const char* name) {
  const char* const value = zmq_msg_gets(const_cast<zmq::message_t&>(message).handle(), name);
  return value == nullptr ? "" : value;
}

void set_unbounded(zmq::socket_t& socket, Duration handshake_limit) {
  constexpr Duration longest = std::chrono::milliseconds(std::numeric_limits<int>::max());
  const auto limit = std::chrono::ceil<std::chrono::milliseconds>(std::min(handshake_limit, longest));
  socket.set(zmq::sockopt::sndhwm, 0);
  socket.set(zmq::sockopt::rcvhwm, 0);
  socket.set(zmq::sockopt::linger, 0);
  socket.set(zmq::sockopt::handshake_ivl, static_cast<int>(limit.count()));
}

void set_family(zmq::socket_t& socket, const std::string& endpoint) {
  socket.set(zmq::sockopt::ipv6, has_ipv6_address(endpoint));
}

void set_longest_message(zmq::socket_t& socket, std::size_t bytes) {
  // What encryption adds: libzmq looks at a message before it is decrypted.
  constexpr std::size_t bytes_of_curve = 33;
  socket.set(zmq::sockopt::maxmsgsize, static_cast<std::int64_t>(bytes + bytes_of_curve));
}

}  // namespace tandem::comm::zeromq
