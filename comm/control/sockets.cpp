#include "comm/control/sockets.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "comm/control/frame.h"
#include "comm/keys.h"

namespace tandem::comm::control {

using namespace std::chrono_literals;

Wakeup::Wakeup() : file_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (file_ < 0) throw ControlError("eventfd: " + std::generic_category().message(errno));
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
  // Of one socket there is one monitor, so the name is its own.
  const std::string name = "inproc://events-" + to_string(random_node_id());
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
  return event;
}

std::vector<zmq::message_t> receive_message(zmq::socket_t& socket) {
  std::vector<zmq::message_t> parts;
  for (bool more = true; more;) {
    zmq::message_t part;
    // A message comes whole: the parts after the first are there.
    if (!socket.recv(part, zmq::recv_flags::dontwait)) break;
    more = part.more();
    parts.push_back(std::move(part));
  }
  return parts;
}

bool send_message(zmq::socket_t& socket, std::vector<zmq::message_t> parts) {
  try {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto more = i + 1 < parts.size() ? zmq::send_flags::sndmore : zmq::send_flags::none;
      if (!socket.send(parts[i], more | zmq::send_flags::dontwait)) return false;
    }
  } catch (const zmq::error_t& error) {
    if (error.num() != EHOSTUNREACH) throw;
    return false;
  }
  return true;
}

void wait_for(std::vector<zmq_pollitem_t>& items, Time timeout) {
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(std::clamp(timeout, Time::zero(), Time(1h)));
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

std::string address_at_other_end(int file) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (::getpeername(file, reinterpret_cast<sockaddr*>(&address), &size) == 0) {
    if (address.ss_family == AF_INET) {
      ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(&address)->sin_addr, text.data(), text.size());
    } else if (address.ss_family == AF_INET6) {
      ::inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(&address)->sin6_addr, text.data(), text.size());
    }
  }
  return text.data();
}

std::string property(const zmq::message_t& message, const char* name) {
  const char* const value = zmq_msg_gets(const_cast<zmq::message_t&>(message).handle(), name);
  return value == nullptr ? "" : value;
}

void set_common_options(zmq::socket_t& socket, std::size_t largest_message) {
  // Without a limit; what is under way is limited by Delivery.
  socket.set(zmq::sockopt::sndhwm, 0);
  // At this many waiting messages ZeroMQ stops reading from the connection.
  socket.set(zmq::sockopt::rcvhwm, 1000);
  socket.set(zmq::sockopt::maxmsgsize, static_cast<std::int64_t>(longest_frame(largest_message)));
  socket.set(zmq::sockopt::handshake_ivl, 5000);
  socket.set(zmq::sockopt::linger, 0);
}

void check_key(const std::string& key, const std::string& whose) {
  if (!is_key(key)) throw KeyError(whose + " is not a key of 40 characters in Z85");
}

Time steady_now() { return std::chrono::steady_clock::now().time_since_epoch(); }

}  // namespace tandem::comm::control
