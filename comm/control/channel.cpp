#include "comm/control/channel.h"

#include <algorithm>
#include <utility>

namespace tandem::comm::control {
namespace {

// With so much owed an acknowledgment is due at once, so that the other side need not keep it.
constexpr std::size_t messages_owed = 1000;
constexpr std::size_t bytes_owed = std::size_t{1} << 20;

}  // namespace

Channel::Channel(std::string peer, const Rules& rules, Time now)
    : peer_(std::move(peer)), rules_(rules), delivery_(peer_, rules.backlog), presence_(rules.timing, now) {}

void Channel::send(std::vector<std::byte> message) {
  if (message.size() > rules_.largest_message) {
    throw ControlError("send to " + peer_ + ": a message of " + std::to_string(message.size()) + " bytes, " +
                       std::to_string(rules_.largest_message) + " are allowed");
  }
  delivery_.push(std::move(message));
}

Channel::Outcome Channel::receive(const Frame& frame, Time now) {
  presence_.heard(now);
  if (const auto* refuse = std::get_if<Refuse>(&frame.body)) return Fault{"gave up: " + refuse->reason};
  if (auto fault = delivery_.acknowledge(frame.acknowledged)) return Fault{std::move(*fault)};
  if (const auto* data = std::get_if<Data>(&frame.body)) return receive_data(frame.sequence, *data, now);
  if (frame.sequence > delivery_.taken()) return Fault{delivery_.loss_text(frame.sequence)};
  if (const auto* times = std::get_if<Heartbeat>(&frame.body)) {
    receive_heartbeat(*times, now);
    return Nothing{};
  }
  if (std::holds_alternative<Goodbye>(frame.body)) return Left{};
  return Fault{"said hello or welcome twice on one connection"};
}

Channel::Outcome Channel::receive_data(std::uint64_t sequence, const Data& data, Time now) {
  if (data.bytes.size() > rules_.largest_message) {
    return Fault{"sent a message of " + std::to_string(data.bytes.size()) + " bytes, " +
                 std::to_string(rules_.largest_message) + " are allowed"};
  }
  switch (delivery_.arrive(sequence)) {
    case Delivery::Arrival::duplicate:
      return Nothing{};
    case Delivery::Arrival::gap:
      return Fault{delivery_.gap_text(sequence)};
    case Delivery::Arrival::next:
      break;
  }
  if (debt_.messages == 0) debt_.since = now;
  debt_.messages += 1;
  debt_.bytes += data.bytes.size();
  return Message{{data.bytes.begin(), data.bytes.end()}};
}

void Channel::receive_heartbeat(const Heartbeat& heartbeat, Time now) {
  heard_.echo = heartbeat.sent;
  heard_.echo_received = now.count();
  if (heartbeat.echo == 0) return;
  offset_.add({Time(heartbeat.echo), Time(heartbeat.echo_received), Time(heartbeat.sent), now});
}

void Channel::go_by(const Timing& timing) {
  rules_.timing = timing;
  presence_.go_by(timing);
}

std::optional<std::string> Channel::attach(std::uint64_t acknowledged, Time now) {
  if (auto fault = delivery_.resume(acknowledged)) return fault;
  presence_.attach(now);
  heard_ = {};
  debt_ = {};
  first_heartbeat_due_ = true;
  return std::nullopt;
}

void Channel::emit(Time now, std::vector<std::vector<std::byte>>& frames) {
  if (!attached()) return;
  const std::size_t before = frames.size();
  while (const auto next = delivery_.next_to_send()) {
    frames.push_back(encode({next->sequence, delivery_.taken(), Data{next->message}}, rules_.format));
  }
  const bool acknowledged = frames.size() > before;
  if (first_heartbeat_due_ || presence_.heartbeat_due(now) || (!acknowledged && acknowledgment_due(now))) {
    frames.push_back(encode(heartbeat(now), rules_.format));
    presence_.said(now);
    first_heartbeat_due_ = false;
  }
  if (frames.size() > before) debt_ = {};
}

std::vector<std::byte> Channel::goodbye() const {
  return encode({delivery_.sent(), delivery_.taken(), Goodbye{}}, rules_.format);
}

Time Channel::next() const {
  const Time next = presence_.next();
  if (!attached() || debt_.messages == 0) return next;
  return std::min(next, debt_.since + rules_.timing.acknowledge);
}

bool Channel::acknowledgment_due(Time now) const {
  if (debt_.messages == 0) return false;
  return debt_.messages >= messages_owed || debt_.bytes >= bytes_owed || now >= debt_.since + rules_.timing.acknowledge;
}

Frame Channel::heartbeat(Time now) const {
  HeartbeatTimes times = heard_;
  times.sent = now.count();
  return {delivery_.sent(), delivery_.taken(), times};
}

}  // namespace tandem::comm::control
