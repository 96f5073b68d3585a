#include "comm/control/control_server.h"

#include <zmq.hpp>

#include <algorithm>
#include <exception>
#include <iterator>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "comm/blocked_signals.h"
#include "comm/control/handshake_failures.h"
#include "comm/control/server_side.h"
#include "comm/control/sockets.h"
#include "comm/control/text.h"
#include "comm/zeromq/sockets.h"
#include "comm/zeromq/zap.h"

namespace tandem::comm::control {
namespace {

// At most so many messages are taken in before what is due goes out.
constexpr int messages_at_once = 1000;
// How long the last frames may take on their way out, after close.
constexpr int linger_milliseconds = 300;

const ServerOptions& checked(const ServerOptions& options) {
  if (!options.keys) return options;
  check_key(options.keys->own.public_key, "the driver's public key");
  check_key(options.keys->own.secret_key, "the driver's secret key");
  for (const std::string& key : options.keys->accepted) check_key(key, "\"" + key + "\", which is to be accepted,");
  return options;
}

}  // namespace

/// The thread and what it works on. Sockets are the thread's alone once it runs; the rest is under `mutex_`.
class ControlServer::Loop {
 public:
  Loop(const ServerOptions& options, ServerListener& listener);
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  ~Loop() { close(closing_limit); }

  const std::string& endpoint() const { return endpoint_; }
  void send(const NodeId& node, std::vector<std::byte> message);
  std::optional<Offset> offset(const NodeId& node) const;
  bool close(Time limit);

 private:
  /// A TCP connection, by its file descriptor.
  struct Link {
    std::string address;
    ServerSide::Connection connection;  // empty before its first message
  };

  void listen(const ServerOptions& options);
  void run() noexcept;
  void serve();
  void give_up(const std::string& why);
  Time wait_time();
  void take_in(Time now);
  void take_message(std::vector<zmq::message_t> parts, Time now);
  void take_connection_events(Time now);
  void take_connection_event(const zeromq::Monitor::Event& event, Time now);
  void note_failure(const std::string& address, const zeromq::Monitor::Event& event, Time now);
  void take_key_requests(Time now);
  bool closing(Time now);
  void free_port();
  void send_out(std::vector<ServerSide::Outgoing> outgoing, Time now);
  void tell();

  const std::function<Time()> clock_;
  ServerListener& listener_;
  std::string endpoint_;
  zmq::context_t context_;
  std::optional<zeromq::ZapHandler> zap_;
  zmq::socket_t router_;
  std::optional<zeromq::Monitor> monitor_;
  std::map<int, Link> links_;
  std::optional<zeromq::Monitor::Event> handshake_failure_;  // of the connection that ends next
  HandshakeFailures handshake_failures_;
  std::vector<ServerSide::Event> events_;  // that are to be told
  zeromq::Wakeup wakeup_;

  mutable std::mutex mutex_;
  ServerSide side_;
  bool awake_ = false;  // by send, since the loop last looked
  std::optional<Time> close_by_;
  bool parting_ = false;
  bool all_acknowledged_ = false;

  std::thread thread_;
};

ControlServer::Loop::Loop(const ServerOptions& options, ServerListener& listener)
    : clock_(checked(options).clock ? options.clock : steady_now),
      listener_(listener),
      router_(context_, zmq::socket_type::router),
      side_(options.rules, clock_()) {
  listen(options);
  const BlockedSignals blocked;
  thread_ = std::thread([this] { run(); });
}

void ControlServer::Loop::listen(const ServerOptions& options) try {
  set_common_options(router_, options.rules.largest_message);
  router_.set(zmq::sockopt::router_mandatory, true);
  // As many nodes may come at once; one that finds no place would try again only after a second.
  router_.set(zmq::sockopt::backlog, 1000);
  if (options.keys) {
    zap_.emplace(context_);
    zap_->accept(options.keys->accepted);
    router_.set(zmq::sockopt::curve_server, true);
    router_.set(zmq::sockopt::curve_secretkey, options.keys->own.secret_key);
    router_.set(zmq::sockopt::zap_domain, "tandem");
  }
  monitor_.emplace(context_, router_);
  zeromq::set_family(router_, options.endpoint);
  router_.bind(options.endpoint);
  endpoint_ = router_.get(zmq::sockopt::last_endpoint);
} catch (const zmq::error_t& error) {
  throw ControlError("the control port cannot listen at " + options.endpoint + ": " + error.what());
}

void ControlServer::Loop::send(const NodeId& node, std::vector<std::byte> message) {
  const std::scoped_lock lock(mutex_);
  if (close_by_) throw GoneError("send to node " + to_string(node) + ": the control port is closed");
  side_.send(node, std::move(message));
  if (!std::exchange(awake_, true)) wakeup_.wake();
}

std::optional<Offset> ControlServer::Loop::offset(const NodeId& node) const {
  const std::scoped_lock lock(mutex_);
  return side_.offset(node);
}

bool ControlServer::Loop::close(Time limit) {
  {
    const std::scoped_lock lock(mutex_);
    if (!close_by_) close_by_ = clock_() + limit;
    wakeup_.wake();
  }
  if (thread_.joinable()) thread_.join();
  const std::scoped_lock lock(mutex_);
  return all_acknowledged_;
}

void ControlServer::Loop::run() noexcept {
  try {
    serve();
  } catch (const std::exception& error) {
    // Such as no memory. If there is none to say so either, this ends the process.
    give_up(error.what());
  }
  free_port();
}

void ControlServer::Loop::give_up(const std::string& why) {
  {
    const std::scoped_lock lock(mutex_);
    if (!close_by_) close_by_ = clock_();
    side_.fail("the control port can serve nobody any more: " + why, clock_());
    std::ranges::move(side_.take_events(), std::back_inserter(events_));
  }
  tell();
}

void ControlServer::Loop::serve() {
  std::vector<zmq_pollitem_t> items = {{router_.handle(), 0, ZMQ_POLLIN, 0},
                                       {monitor_->socket().handle(), 0, ZMQ_POLLIN, 0},
                                       {nullptr, wakeup_.file(), ZMQ_POLLIN, 0}};
  if (zap_) items.push_back({zap_->socket().handle(), 0, ZMQ_POLLIN, 0});
  for (bool done = false; !done;) {
    zeromq::wait_for(items, wait_time());
    if (items[2].revents != 0) wakeup_.clear();
    std::vector<ServerSide::Outgoing> outgoing;
    const Time now = clock_();
    {
      const std::scoped_lock lock(mutex_);
      awake_ = false;
      take_in(now);
      side_.tick(now);
      outgoing = side_.take_outgoing(now);
      if (events_ = side_.take_events(); parting_) events_.clear();
      done = closing(now);
      std::ranges::move(side_.take_outgoing(now), std::back_inserter(outgoing));
    }
    send_out(std::move(outgoing), now);
    tell();
  }
}

void ControlServer::Loop::free_port() {
  monitor_.reset();
  router_.set(zmq::sockopt::linger, linger_milliseconds);
  router_.close();
  zap_.reset();
  // Waits until ZeroMQ's own thread has closed the port.
  context_.close();
}

Time ControlServer::Loop::wait_time() {
  const std::scoped_lock lock(mutex_);
  Time until = side_.next();
  if (close_by_) until = std::min(until, *close_by_);
  return until - clock_();
}

void ControlServer::Loop::take_in(Time now) {
  take_key_requests(now);
  for (int i = 0; i < messages_at_once; ++i) {
    std::vector<zmq::message_t> parts = zeromq::receive_message(router_);
    if (parts.empty()) break;
    // What ended or began before this message came is known before it is looked at.
    take_connection_events(now);
    take_message(std::move(parts), now);
  }
  take_connection_events(now);
}

void ControlServer::Loop::take_message(std::vector<zmq::message_t> parts, Time now) {
  const ServerSide::Connection from = parts.front().to_string();
  const zmq::message_t& last = parts.back();
  // Properties that ZeroMQ does not set itself are what the other side says of itself.
  const std::string address = to_text(zeromq::property(last, "Peer-Address"));
  const std::string key = zap_ ? zeromq::property(last, "User-Id") : "";
  if (parts.size() != 2) {
    return side_.drop("a message of " + std::to_string(parts.size() - 1) + " parts from " + address, now);
  }
  // ZeroMQ's own names of connections begin with 0 and come once. One that the other side has chosen may come again.
  if (from.empty() || from.front() != '\0') {
    return side_.drop("a message from " + address + " on a connection that names itself", now);
  }
  const auto link = links_.find(zmq_msg_get(parts.back().handle(), ZMQ_SRCFD));
  if (link != links_.end() && link->second.connection != from) {
    if (!link->second.connection.empty()) side_.disconnect(link->second.connection, now);
    link->second.connection = from;
  }
  side_.receive(from, key, address, {static_cast<const std::byte*>(last.data()), last.size()}, now);
  if (link == links_.end()) side_.disconnect(from, now);
}

void ControlServer::Loop::take_connection_events(Time now) {
  while (const auto event = monitor_->next()) take_connection_event(*event, now);
  for (const std::string& line : handshake_failures_.due(now)) side_.refuse(line, now);
}

void ControlServer::Loop::note_failure(const std::string& address, const zeromq::Monitor::Event& event, Time now) {
  const bool definite = event.what == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL;
  const std::string line = handshake_failures_.add(address, zeromq::failure_text(event), definite, now);
  if (!line.empty()) side_.refuse(line, now);
}

// A failed handshake is told of without its connection, directly before that ends.
void ControlServer::Loop::take_connection_event(const zeromq::Monitor::Event& event, Time now) {
  switch (event.what) {
    case ZMQ_EVENT_ACCEPTED:
      links_[event.value] = {address_at_other_end(event.value), ""};
      break;
    case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
    case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
      handshake_failure_ = event;
      break;
    case ZMQ_EVENT_DISCONNECTED:
      if (const auto link = links_.find(event.value); link != links_.end()) {
        if (handshake_failure_) note_failure(link->second.address, *handshake_failure_, now);
        side_.disconnect(link->second.connection, now);
        links_.erase(link);
      }
      handshake_failure_.reset();
      break;
    default:
      break;
  }
}

void ControlServer::Loop::take_key_requests(Time now) {
  if (!zap_) return;
  for (const std::string& who : zap_->answer()) side_.refuse(who + " is refused: the key is not accepted", now);
}

// Says goodbye when it is time; returns whether all is done.
bool ControlServer::Loop::closing(Time now) {
  if (!close_by_) return false;
  const bool late = now >= *close_by_;
  if (!parting_ && (late || side_.may_part())) {
    all_acknowledged_ = side_.all_acknowledged();
    side_.say_goodbye();
    parting_ = true;
  }
  return parting_ && (late || side_.parted());
}

void ControlServer::Loop::send_out(std::vector<ServerSide::Outgoing> outgoing, Time now) {
  for (auto& [to, frame] : outgoing) {
    std::vector<zmq::message_t> parts;
    parts.emplace_back(to.data(), to.size());
    parts.emplace_back(frame.data(), frame.size());
    if (zeromq::send_message(router_, std::move(parts))) continue;
    const std::scoped_lock lock(mutex_);
    side_.disconnect(to, now);
  }
}

void ControlServer::Loop::tell() {
  struct Teller {
    ServerListener& listener;

    void operator()(ServerSide::Joined& event) const { listener.on_joined(event.node, event.info, event.key); }
    void operator()(ServerSide::Message& event) const { listener.on_message(event.node, std::move(event.bytes)); }
    void operator()(ServerSide::Left& event) const { listener.on_left(event.node); }
    void operator()(ServerSide::Lost& event) const { listener.on_lost(event.node, event.reason); }
    void operator()(ServerSide::Refused& event) const { listener.on_refused(event.reason); }
    void operator()(ServerSide::Dropped& event) const { listener.on_dropped(event.what); }
  };
  for (auto& event : std::exchange(events_, {})) std::visit(Teller{listener_}, event);
}

ControlServer::ControlServer(const ServerOptions& options, ServerListener& listener)
    : loop_(std::make_unique<Loop>(options, listener)) {}
ControlServer::~ControlServer() = default;
const std::string& ControlServer::endpoint() const { return loop_->endpoint(); }
void ControlServer::send(const NodeId& node, std::vector<std::byte> message) { loop_->send(node, std::move(message)); }
std::optional<Offset> ControlServer::offset(const NodeId& node) const { return loop_->offset(node); }
bool ControlServer::close(Time limit) { return loop_->close(limit); }

}  // namespace tandem::comm::control
