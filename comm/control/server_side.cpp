#include "comm/control/server_side.h"

#include <algorithm>
#include <utility>

namespace tandem::comm::control {
namespace {

constexpr Time complaint_interval = std::chrono::minutes(10);
constexpr std::size_t most_complaints = 50;
constexpr std::size_t most_ended = 256;

std::uint64_t random_session() { return random_node_id().high | 1; }

}  // namespace

ServerSide::ServerSide(Rules rules, Time now)
    : rules_(std::move(rules)),
      refusals_(complaint_interval, most_complaints),
      drops_(complaint_interval, most_complaints),
      last_tick_(now) {}

void ServerSide::send(const NodeId& node, std::vector<std::byte> message) {
  const auto peer = peers_.find(node);
  if (leaving_) throw GoneError("send to node " + to_string(node) + ": goodbye is said");
  if (peer == peers_.end()) throw GoneError("send to node " + to_string(node) + ": it has not joined, or is gone");
  peer->second.channel.send(std::move(message));
}

void ServerSide::receive(const Connection& from, const std::string& key, const std::string& address,
                         std::span<const std::byte> bytes, Time now) {
  if (former_.contains(from)) return;
  const Decoded decoded = decode(bytes, rules_.format);
  if (const auto* malformed = std::get_if<Malformed>(&decoded)) {
    return drop(malformed->why + " from " + address, now);
  }
  const auto node = nodes_.find(from);
  if (const auto* foreign = std::get_if<ForeignHello>(&decoded)) {
    if (node != nodes_.end()) return lose(peers_.find(node->second), "said hello in another wire format");
    return refuse_node(from, "a node at " + address, version_fault(foreign->version, foreign->wire_format), now);
  }
  const Frame& frame = std::get<Frame>(decoded);
  if (node != nodes_.end()) return receive_from_peer(peers_.find(node->second), frame, now);
  if (std::holds_alternative<Hello>(frame.body)) return receive_hello(from, key, frame, now);
  drop("a frame from " + address + " on a connection without a hello", now);
  refuse_connection(from, "no node is joined on this connection");
}

void ServerSide::receive_hello(const Connection& from, const std::string& key, const Frame& frame, Time now) {
  const Hello& hello = std::get<Hello>(frame.body);
  const auto peer = peers_.find(hello.id);
  if (leaving_ && peer == peers_.end()) {
    refuse_connection(from, "it is closing");
  } else if (hello.info.version != rules_.version) {
    refuse_node(from, name_of(hello.info), version_fault(hello.info.version, rules_.format), now);
  } else if (peer != peers_.end()) {
    resume(peer, from, key, frame, now);
  } else if (hello.session != 0) {
    refuse_node(from, name_of(hello.info), "this driver does not know it, or has given it up: it cannot resume", now);
  } else {
    join(from, key, hello, now);
  }
}

void ServerSide::join(const Connection& from, const std::string& key, const Hello& hello, Time now) {
  Peer joining{hello.info, key, random_session(), from, Channel(name_of(hello.info), rules_, now)};
  const auto peer = peers_.emplace(hello.id, std::move(joining)).first;
  events_.emplace_back(Joined{hello.id, hello.info, key});
  welcome(peer, from, 0, now);
}

void ServerSide::resume(Peers::iterator peer, const Connection& from, const std::string& key, const Frame& frame,
                        Time now) {
  const std::uint64_t session = std::get<Hello>(frame.body).session;
  // A node whose welcome was lost on the way knows no session yet.
  const bool knows_session =
      session == peer->second.session || (session == 0 && frame.acknowledged == 0 && peer->second.channel.untouched());
  if (key != peer->second.key || !knows_session) {
    refuse_node(from, name_of(peer->second.info), "another node has joined under its identity", now);
    return;
  }
  welcome(peer, from, frame.acknowledged, now);
}

void ServerSide::welcome(Peers::iterator peer, const Connection& connection, std::uint64_t acknowledged, Time now) {
  Peer& node = peer->second;
  if (node.connection != connection) {
    part_from(std::exchange(node.connection, connection), !node.channel.attached());
  }
  nodes_.emplace(connection, peer->first);
  if (const auto fault = node.channel.attach(acknowledged, now)) return lose(peer, *fault);
  const Timing& timing = rules_.timing;
  const Welcome welcome{node.session, timing.heartbeat, timing.silence, timing.reconnect};
  outgoing_.push_back({connection, encode({0, node.channel.taken(), welcome}, rules_.format)});
  if (leaving_) outgoing_.push_back({connection, node.channel.goodbye()});
}

void ServerSide::receive_from_peer(Peers::iterator peer, const Frame& frame, Time now) {
  Channel::Outcome outcome = peer->second.channel.receive(frame, now);
  if (auto* message = std::get_if<Channel::Message>(&outcome)) {
    events_.emplace_back(Message{peer->first, std::move(message->bytes)});
  } else if (const auto* fault = std::get_if<Channel::Fault>(&outcome)) {
    lose(peer, fault->what);
  } else if (std::holds_alternative<Channel::Left>(outcome)) {
    if (!leaving_) outgoing_.push_back({peer->second.connection, peer->second.channel.goodbye()});
    events_.emplace_back(Left{peer->first});
    forget(peer);
  }
}

void ServerSide::disconnect(const Connection& connection, Time now) {
  if (const auto node = nodes_.find(connection); node != nodes_.end()) peers_.at(node->second).channel.detach(now);
  if (former_.contains(connection)) part_from(connection, true);
}

void ServerSide::refuse(const std::string& reason, Time now) {
  if (auto text = refusals_.admit(reason, now)) events_.emplace_back(Refused{std::move(*text)});
}

void ServerSide::drop(const std::string& what, Time now) {
  if (auto text = drops_.admit(what, now)) events_.emplace_back(Dropped{std::move(*text)});
}

void ServerSide::refuse_node(const Connection& to, const std::string& name, const std::string& reason, Time now) {
  refuse(name + " is refused: " + reason, now);
  refuse_connection(to, reason);
}

void ServerSide::refuse_connection(const Connection& connection, const std::string& reason) {
  answer_refuse(connection, reason);
  part_from(connection, false);
}

void ServerSide::answer_refuse(const Connection& to, const std::string& reason) {
  outgoing_.push_back({to, encode({0, 0, Refuse{reason}}, rules_.format)});
}

std::string ServerSide::version_fault(const std::string& version, std::uint16_t format) const {
  return "it runs version " + version + " with wire format " + std::to_string(format) + ", the driver version " +
         rules_.version + " with wire format " + std::to_string(rules_.format);
}

void ServerSide::fail(const std::string& reason, Time now) {
  refuse("whoever wants to join is refused: " + reason, now);
  while (!peers_.empty()) lose(peers_.begin(), "is out of reach: " + reason);
}

void ServerSide::tick(Time now) {
  const Time pause = now - last_tick_;
  last_tick_ = now;
  // Stopped or starved, this side heard of nobody.
  const bool paused = pause > 2 * rules_.timing.heartbeat;
  for (auto peer = peers_.begin(); peer != peers_.end();) {
    const auto current = peer++;
    if (paused) current->second.channel.forgive(pause - rules_.timing.heartbeat, now);
    if (const auto absence = current->second.channel.absence(now)) lose(current, *absence);
  }
}

Time ServerSide::next() const {
  Time next = last_tick_ + rules_.timing.heartbeat;
  for (const auto& [id, peer] : peers_) next = std::min(next, peer.channel.next());
  return next;
}

std::vector<ServerSide::Outgoing> ServerSide::take_outgoing(Time now) {
  std::vector<std::vector<std::byte>> frames;
  for (auto& [id, peer] : peers_) {
    frames.clear();
    peer.channel.emit(now, frames);
    for (auto& frame : frames) outgoing_.push_back({peer.connection, std::move(frame)});
  }
  return std::exchange(outgoing_, {});
}

std::vector<ServerSide::Event> ServerSide::take_events() { return std::exchange(events_, {}); }

void ServerSide::say_goodbye() {
  leaving_ = true;
  for (const auto& [id, peer] : peers_) {
    if (peer.channel.attached()) outgoing_.push_back({peer.connection, peer.channel.goodbye()});
  }
}

bool ServerSide::all_acknowledged() const {
  return std::ranges::all_of(peers_, [](const auto& entry) { return entry.second.channel.all_acknowledged(); });
}

bool ServerSide::may_part() const {
  return all_acknowledged() &&
         std::ranges::all_of(peers_, [](const auto& entry) { return entry.second.channel.attached(); });
}

std::optional<Offset> ServerSide::offset(const NodeId& node) const {
  const auto peer = peers_.find(node);
  return peer == peers_.end() ? std::nullopt : peer->second.channel.offset();
}

void ServerSide::lose(Peers::iterator peer, const std::string& reason) {
  answer_refuse(peer->second.connection, "the driver has given it up: it " + reason);
  events_.emplace_back(Lost{peer->first, name_of(peer->second.info) + " " + reason});
  forget(peer);
}

void ServerSide::forget(Peers::iterator peer) {
  part_from(peer->second.connection, !peer->second.channel.attached());
  peers_.erase(peer);
}

void ServerSide::part_from(const Connection& connection, bool has_ended) {
  nodes_.erase(connection);
  if (!has_ended) {
    former_.emplace(connection, false);
    return;
  }
  if (std::exchange(former_[connection], true)) return;
  ended_.push_back(connection);
  if (ended_.size() <= most_ended) return;
  former_.erase(ended_.front());
  ended_.pop_front();
}

}  // namespace tandem::comm::control
