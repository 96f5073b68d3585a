#include "comm/zeromq/inbox.h"

#include <utility>

#include "comm/endpoint.h"

namespace tandem::comm::zeromq {
Inbox::Inbox(zmq::context_t& context, const Options& options)
    : zap_(context), socket_(context, zmq::socket_type::dealer), monitor_(context, socket_) {
  set_unbounded(socket_, options.handshake_limit);
  set_longest_message(socket_, options.largest_message);
  socket_.set(zmq::sockopt::curve_server, true);
  socket_.set(zmq::sockopt::curve_secretkey, options.keys.secret_key);
  // Without a domain, libzmq would not insist on the handler's answer.
  socket_.set(zmq::sockopt::zap_domain, "tandem");
  const std::string endpoint = endpoint_at(options.address, "*");
  set_family(socket_, endpoint);
  socket_.bind(endpoint);
  endpoint_ = socket_.get(zmq::sockopt::last_endpoint);
}

void Inbox::accept(int rank, const std::string& key) {
  ranks_.emplace(key, rank);
  zap_.accept({key});
}

void Inbox::add_to(std::vector<zmq_pollitem_t>& items) {
  for (zmq::socket_t* const socket : {&zap_.socket(), &socket_, &monitor_.socket()}) {
    items.push_back({socket->handle(), 0, ZMQ_POLLIN, 0});
  }
}

std::optional<Inbox::Arrival> Inbox::next() {
  zmq::message_t message;
  if (!receive_part(socket_, message)) return std::nullopt;
  const int rank = ranks_.at(property(message, "User-Id"));
  if (met_.insert(rank).second) {
    const int connection = zmq_msg_get(message.handle(), ZMQ_SRCFD);
    take_events();
    if (ended_.contains(connection)) {
      closed_.push_back(rank);
    } else {
      connections_[connection] = rank;
    }
  }
  return Arrival{rank, std::move(message)};
}

std::optional<int> Inbox::next_closed() {
  take_events();
  if (closed_.empty()) return std::nullopt;
  const int rank = closed_.front();
  closed_.pop_front();
  return rank;
}

void Inbox::take_events() {
  while (const auto event = monitor_.next()) {
    if (event->what == ZMQ_EVENT_ACCEPTED) ended_.erase(event->value);
    if (event->what != ZMQ_EVENT_DISCONNECTED) continue;
    ended_.insert(event->value);
    const auto connection = connections_.find(event->value);
    if (connection == connections_.end()) continue;
    closed_.push_back(connection->second);
    connections_.erase(connection);
  }
}

}  // namespace tandem::comm::zeromq
