#pragma once

#include <zmq.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "comm/control/node.h"

// What both ends of the control plane need of ZeroMQ and of the system. Owner only, unless said otherwise.
namespace tandem::comm::control {

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
    std::uint16_t what;  // ZMQ_EVENT_...
    std::int32_t value;  // a file descriptor or an error, as ZeroMQ says for each
  };
  /// What has happened next; unset if nothing more.
  std::optional<Event> next();

  zmq::socket_t& socket() { return events_; }

 private:
  zmq::socket_t& watched_;
  zmq::socket_t events_;
};

/// The parts of a message, or nothing if none has come. Never waits.
std::vector<zmq::message_t> receive_message(zmq::socket_t& socket);

/// Sends all parts at once; never waits. Returns false if the peer that the first part names is not connected.
bool send_message(zmq::socket_t& socket, std::vector<zmq::message_t> parts);

/// Waits until one of the items is ready, at most until `timeout` from now, rounded up to milliseconds.
void wait_for(std::vector<zmq_pollitem_t>& items, Time timeout);

/// In words, for ZMQ_EVENT_HANDSHAKE_FAILED_...
std::string failure_text(const Monitor::Event& event);

/// The address at the other end of a TCP connection, without the port; empty if it is gone.
std::string address_at_other_end(int file);

/// A property of the message's connection; empty if it has none such.
std::string property(const zmq::message_t& message, const char* name);

/// Options of every socket here: none of its queues throws anything away.
void set_common_options(zmq::socket_t& socket, std::size_t largest_message);

/// Throws KeyError unless `key` is one; `whose` is for the text.
void check_key(const std::string& key, const std::string& whose);

Time steady_now();

}  // namespace tandem::comm::control
