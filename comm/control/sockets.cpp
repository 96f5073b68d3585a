#include "comm/control/sockets.h"

#include <sys/socket.h>

#include <chrono>

#include "comm/control/frame.h"
#include "comm/interface.h"
#include "comm/keys.h"
#include "comm/zeromq/sockets.h"

namespace tandem::comm::control {

std::string address_at_other_end(int file) {
  sockaddr_storage storage{};
  socklen_t size = sizeof(storage);
  auto& address = reinterpret_cast<sockaddr&>(storage);
  return ::getpeername(file, &address, &size) == 0 ? address_in(address) : "";
}

void set_common_options(zmq::socket_t& socket, std::size_t largest_message) {
  constexpr Time handshake_limit = std::chrono::seconds(5);
  // What is under way to a node is limited by Delivery, and to others by ServerSide.
  zeromq::set_unbounded(socket, handshake_limit);
  // At this many waiting messages ZeroMQ stops reading from the connection.
  socket.set(zmq::sockopt::rcvhwm, 1000);
  zeromq::set_longest_message(socket, longest_frame(largest_message));
}

void check_key(const std::string& key, const std::string& whose) {
  if (!is_key(key)) throw KeyError(whose + " is not a key of " + std::to_string(key_characters) + " characters in Z85");
}

Time steady_now() { return std::chrono::steady_clock::now().time_since_epoch(); }

}  // namespace tandem::comm::control
