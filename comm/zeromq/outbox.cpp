#include "comm/zeromq/outbox.h"

#include <utility>

namespace tandem::comm::zeromq {
namespace {

/// What the socket knows the connection with a rank by.
std::string name_of(int rank) { return "rank " + std::to_string(rank); }

}  // namespace

Outbox::Outbox(zmq::context_t& context, const KeyPair& keys, Duration handshake_limit)
    : socket_(context, zmq::socket_type::router), monitor_(context, socket_) {
  set_unbounded(socket_, handshake_limit);
  socket_.set(zmq::sockopt::router_mandatory, true);
  // A new connection would begin after messages that are lost.
  socket_.set(zmq::sockopt::reconnect_ivl, -1);
  socket_.set(zmq::sockopt::curve_publickey, keys.public_key);
  socket_.set(zmq::sockopt::curve_secretkey, keys.secret_key);
}

void Outbox::connect(int rank, const std::string& endpoint, const std::string& key) {
  set_family(socket_, endpoint);
  socket_.set(zmq::sockopt::curve_serverkey, key);
  socket_.set(zmq::sockopt::connect_routing_id, name_of(rank));
  ranks_[endpoint] = rank;
  socket_.connect(endpoint);
}

bool Outbox::send(int rank, zmq::message_t message) {
  const std::string to = name_of(rank);
  std::vector<zmq::message_t> parts;
  parts.emplace_back(to.data(), to.size());
  parts.push_back(std::move(message));
  return send_message(socket_, std::move(parts));
}

void Outbox::add_to(std::vector<zmq_pollitem_t>& items) {
  items.push_back({monitor_.socket().handle(), 0, ZMQ_POLLIN, 0});
}

std::optional<Outbox::Event> Outbox::next() {
  while (const auto event = monitor_.next()) {
    const auto found = ranks_.find(event->endpoint);
    if (found == ranks_.end()) continue;
    const int rank = found->second;
    switch (event->what) {
      case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
        return Event{rank, true, ""};
      case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
      case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
      case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
        failures_.try_emplace(rank, failure_text(*event));
        break;
      case ZMQ_EVENT_CLOSED:
        failures_.try_emplace(rank, "nobody listens there");
        return Event{rank, false, failures_.at(rank)};
      case ZMQ_EVENT_DISCONNECTED:
        return Event{rank, false, failures_[rank]};
      default:
        break;
    }
  }
  return std::nullopt;
}

}  // namespace tandem::comm::zeromq
