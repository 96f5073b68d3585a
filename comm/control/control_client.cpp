#include "comm/control/control_client.h"

#include <zmq.hpp>

#include <algorithm>
#include <exception>
#include <iterator>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

#include "comm/blocked_signals.h"
#include "comm/control/client_side.h"
#include "comm/control/sockets.h"
#include "comm/endpoint.h"
#include "comm/zeromq/sockets.h"

namespace tandem::comm::control {
namespace {

// At most so many messages are taken in before what is due goes out.
constexpr int messages_at_once = 1000;
// How long the last frames may take on their way out, after the end.
constexpr int linger_milliseconds = 300;

const ClientOptions& checked(const ClientOptions& options) {
  if (!options.keys) return options;
  check_key(options.keys->own.public_key, "this node's public key");
  check_key(options.keys->own.secret_key, "this node's secret key");
  check_key(options.keys->driver, "the driver's public key");
  return options;
}

/// One connection to the driver: it is made once, and does not come back by itself.
class Link {
 public:
  /// The driver listens at `endpoint`, which has an address.
  Link(zmq::context_t& context, const ClientOptions& options, const std::string& endpoint)
      : socket_(context, zmq::socket_type::dealer), monitor_(context, socket_) {
    set_common_options(socket_, options.rules.largest_message);
    zeromq::set_family(socket_, endpoint);
    socket_.set(zmq::sockopt::reconnect_ivl, -1);
    if (options.keys) {
      socket_.set(zmq::sockopt::curve_publickey, options.keys->own.public_key);
      socket_.set(zmq::sockopt::curve_secretkey, options.keys->own.secret_key);
      socket_.set(zmq::sockopt::curve_serverkey, options.keys->driver);
    }
    socket_.connect(endpoint);
  }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  zmq::socket_t& socket() { return socket_; }
  zeromq::Monitor& monitor() { return monitor_; }
  void linger() { socket_.set(zmq::sockopt::linger, linger_milliseconds); }

 private:
  zmq::socket_t socket_;
  zeromq::Monitor monitor_;
};

[[noreturn]] void throw_cannot_be(const std::string& endpoint, const std::exception& error) {
  throw ControlError("the driver cannot be at \"" + endpoint + "\": " + error.what());
}

/// Here and not by ZeroMQ: that does not tell of a host that is not known, and looks it up on the thread that all its
/// connections need.
std::string address_of(const std::string& endpoint) {
  try {
    return with_address(endpoint);
  } catch (const std::runtime_error& error) {
    throw_cannot_be(endpoint, error);
  }
}

}  // namespace

/// The thread and what it works on. Connections are the thread's alone; the rest is under `mutex_`.
class ControlClient::Loop {
 public:
  Loop(const ClientOptions& options, ClientListener& listener);
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  ~Loop() { close(closing_limit); }

  void send(std::vector<std::byte> message);
  std::optional<Offset> offset() const;
  bool close(Time limit);

 private:
  void run() noexcept;
  void serve();
  void turn(bool& done);
  void give_up(const std::string& why);
  Time wait_time();
  void connect(Time now);
  void try_to_connect(Time now);
  void take_in(Time now);
  void take_connection_events(Time now);
  bool closing(Time now);
  void send_out(const std::vector<std::vector<std::byte>>& frames);
  void tell();

  const ClientOptions options_;
  const std::string endpoint_;  // with the driver's address
  const std::function<Time()> clock_;
  ClientListener& listener_;
  zmq::context_t context_;
  std::optional<Link> link_;
  std::string failure_;                    // why the connection ends, where that is known before
  std::vector<ClientSide::Event> events_;  // that are to be told
  zeromq::Wakeup wakeup_;

  mutable std::mutex mutex_;
  ClientSide side_;
  bool awake_ = false;  // by send, since the loop last looked
  std::optional<Time> close_by_;
  bool parting_ = false;
  bool all_acknowledged_ = false;

  std::thread thread_;
};

ControlClient::Loop::Loop(const ClientOptions& options, ClientListener& listener)
    : options_(checked(options)),
      endpoint_(address_of(options.endpoint)),
      clock_(options.clock ? options.clock : steady_now),
      listener_(listener),
      side_(options.rules, options.self, options.endpoint, options.join_limit, clock_()) {
  try {
    // Here rather than on the thread, to tell at once if an endpoint is none.
    connect(clock_());
  } catch (const zmq::error_t& error) {
    throw_cannot_be(options.endpoint, error);
  }
  const BlockedSignals blocked;
  thread_ = std::thread([this] { run(); });
}

void ControlClient::Loop::send(std::vector<std::byte> message) {
  const std::scoped_lock lock(mutex_);
  if (close_by_) throw GoneError("send to the driver at " + options_.endpoint + ": this end is closed");
  side_.send(std::move(message));
  if (!std::exchange(awake_, true)) wakeup_.wake();
}

std::optional<Offset> ControlClient::Loop::offset() const {
  const std::scoped_lock lock(mutex_);
  return side_.offset();
}

bool ControlClient::Loop::close(Time limit) {
  {
    const std::scoped_lock lock(mutex_);
    if (!close_by_) close_by_ = clock_() + limit;
    wakeup_.wake();
  }
  if (thread_.joinable()) thread_.join();
  const std::scoped_lock lock(mutex_);
  return all_acknowledged_;
}

void ControlClient::Loop::run() noexcept {
  try {
    serve();
  } catch (const std::exception& error) {
    // Such as no memory. If there is none to say so either, this ends the process.
    give_up(error.what());
  }
  if (link_) link_->linger();
  link_.reset();
}

void ControlClient::Loop::give_up(const std::string& why) {
  {
    const std::scoped_lock lock(mutex_);
    side_.fail(why);
    std::ranges::move(side_.take_events(), std::back_inserter(events_));
  }
  tell();
}

void ControlClient::Loop::serve() {
  for (bool done = false; !done;) {
    std::vector<zmq_pollitem_t> items = {{nullptr, wakeup_.file(), ZMQ_POLLIN, 0}};
    if (link_) {
      items.push_back({link_->socket().handle(), 0, ZMQ_POLLIN, 0});
      items.push_back({link_->monitor().socket().handle(), 0, ZMQ_POLLIN, 0});
    }
    zeromq::wait_for(items, wait_time());
    if (items.front().revents != 0) wakeup_.clear();
    turn(done);
  }
}

void ControlClient::Loop::turn(bool& done) {
  std::vector<std::vector<std::byte>> outgoing;
  const Time now = clock_();
  {
    const std::scoped_lock lock(mutex_);
    awake_ = false;
    take_in(now);
    side_.tick(now);
    if (side_.wants_connection(now)) try_to_connect(now);
    outgoing = side_.take_outgoing(now);
    if (events_ = side_.take_events(); parting_) events_.clear();
    done = closing(now) || side_.ended();
    std::ranges::move(side_.take_outgoing(now), std::back_inserter(outgoing));
  }
  send_out(outgoing);
  tell();
}

Time ControlClient::Loop::wait_time() {
  const std::scoped_lock lock(mutex_);
  Time until = side_.next();
  if (close_by_) until = std::min(until, *close_by_);
  return until - clock_();
}

void ControlClient::Loop::connect(Time now) {
  link_.reset();
  failure_.clear();
  link_.emplace(context_, options_, endpoint_);
  side_.connecting(now);
}

// As when this process has no descriptor left; later it may have.
void ControlClient::Loop::try_to_connect(Time now) {
  try {
    connect(now);
  } catch (const zmq::error_t& error) {
    side_.connecting(now);
    side_.disconnect(std::string("no connection can be made from here: ") + error.what(), now);
  }
}

void ControlClient::Loop::take_in(Time now) {
  if (!link_) return;
  for (int i = 0; i < messages_at_once; ++i) {
    const std::vector<zmq::message_t> parts = zeromq::receive_message(link_->socket());
    if (parts.empty()) {
      // All that came before the connection's end has been taken.
      take_connection_events(now);
      return;
    }
    const std::byte* bytes = static_cast<const std::byte*>(parts.front().data());
    side_.receive({bytes, parts.size() == 1 ? parts.front().size() : 0}, now);
  }
}

void ControlClient::Loop::take_connection_events(Time now) {
  while (const auto event = link_->monitor().next()) {
    switch (event->what) {
      case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
        side_.refuse("the key " + (options_.keys ? options_.keys->own.public_key : std::string()) + " is not accepted");
        break;
      case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
        failure_ = zeromq::failure_text(*event);
        break;
      case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
        // Whoever finds the other at fault says nothing, and ends the connection.
        failure_ = zeromq::failure_text(*event) + "; does only one of them use keys, or another key?";
        break;
      case ZMQ_EVENT_DISCONNECTED:
        side_.disconnect(failure_.empty() ? "the connection ended" : failure_, now);
        break;
      case ZMQ_EVENT_CLOSED:
        side_.disconnect("nobody listens there", now);
        break;
      default:
        break;
    }
  }
}

// Says goodbye when it is time; returns whether all is done.
bool ControlClient::Loop::closing(Time now) {
  if (!parting_) all_acknowledged_ = side_.all_acknowledged();
  if (!close_by_) return false;
  const bool late = now >= *close_by_;
  if (!parting_ && (late || (all_acknowledged_ && side_.may_part()))) {
    side_.say_goodbye();
    parting_ = true;
  }
  return parting_ && late;
}

void ControlClient::Loop::send_out(const std::vector<std::vector<std::byte>>& frames) {
  if (!link_) return;
  for (const auto& frame : frames) {
    std::vector<zmq::message_t> parts;
    parts.emplace_back(frame.data(), frame.size());
    zeromq::send_message(link_->socket(), std::move(parts));
  }
}

void ControlClient::Loop::tell() {
  struct Teller {
    ClientListener& listener;

    void operator()(ClientSide::Joined&) const { listener.on_joined(); }
    void operator()(ClientSide::Message& event) const { listener.on_message(std::move(event.bytes)); }
    void operator()(ClientSide::Left&) const { listener.on_left(); }
    void operator()(ClientSide::Lost& event) const { listener.on_lost(event.reason); }
    void operator()(ClientSide::Refused& event) const { listener.on_refused(event.reason); }
  };
  for (auto& event : std::exchange(events_, {})) std::visit(Teller{listener_}, event);
}

ControlClient::ControlClient(const ClientOptions& options, ClientListener& listener)
    : loop_(std::make_unique<Loop>(options, listener)) {}
ControlClient::~ControlClient() = default;
void ControlClient::send(std::vector<std::byte> message) { loop_->send(std::move(message)); }
std::optional<Offset> ControlClient::offset() const { return loop_->offset(); }
bool ControlClient::close(Time limit) { return loop_->close(limit); }

}  // namespace tandem::comm::control
