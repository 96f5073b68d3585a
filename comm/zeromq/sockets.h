#pragma once

#include <zmq.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.h"

// What all that uses ZeroMQ here needs of it and of the system. Owner only, unless said otherwise.
namespace tandem::comm::zeromq {

/// Makes a loop that waits in zmq_poll look at what other threads have left for it.
class Wakeup {
 public:
  Wakeup();
  Wakeup(const Wakeup&) = delete;
  Wakeup& operator=(const Wakeup&) = delete;
  ~Wakeup();

  /// Safe from any thread.
  void wake();
  void clear();
  int file() const { return file_; }

 private:
  int file_;
};

/// What happens to the connections of a socket.
class Monitor {
 public:
  /// Watches `socket`, which has neither been bound nor connected.
  Monitor(zmq::context_t& context, zmq::socket_t& socket);
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;
  /// Before the socket's end.
  ~Monitor();

  struct Event {
    std::uint16_t what;    // ZMQ_EVENT_...
    std::int32_t value;    // a file descriptor or an error, as ZeroMQ says for each
    std::string endpoint;  // of the socket that was bound or connected
  };
  /// What has happened next; unset if nothing more.
  std::optional<Event> next();

  zmq::socket_t& socket() { return events_; }

 private:
  zmq::socket_t& watched_;
  zmq::socket_t events_;
};

/// The next part of a message; returns false if none has come. Never waits.
[[nodiscard]] bool receive_part(zmq::socket_t& socket, zmq::message_t& part);

/// The parts of a message, or nothing if none has come. Never waits.
std::vector<zmq::message_t> receive_message(zmq::socket_t& socket);

/// Sends all parts at once; never waits. Returns false if the peer that the first part names is not connected.
bool send_message(zmq::socket_t& socket, std::vector<zmq::message_t> parts);

/// Waits until one of the items is ready, at most until `timeout` from now, rounded up to milliseconds.
void wait_for(std::vector<zmq_pollitem_t>& items, Duration timeout);

/// In words, for ZMQ_EVENT_HANDSHAKE_FAILED_...
std::string failure_text(const Monitor::Event& event);

/// A property of the message's connection; empty if it has none such.
std::string property(const zmq::message_t& message, const char* name);

/// Options of a socket that neither limits nor throws away what it holds, but for what is unsent when it is closed.
/// `handshake_limit`: longest that a connection may take until both sides have shown their keys.
void set_unbounded(zmq::socket_t& socket, Duration handshake_limit);

/// What a socket binds or connects from now on is of the endpoint's family of addresses.
void set_family(zmq::socket_t& socket, const std::string& endpoint);

/// A connection on which a message comes that is longer than so many bytes, as sent, is closed.
void set_longest_message(zmq::socket_t& socket, std::size_t bytes);

}  // namespace tandem::comm::zeromq
