#include "comm/control/client_side.h"

#include <algorithm>
#include <utility>

#include "comm/error_text.h"

namespace tandem::comm::control {
namespace {

constexpr Time first_retry = 50ms;
constexpr Time longest_retry = 500ms;
// A connection on which nobody answers for so long is given up for another try.
constexpr Time greeting_limit = 2s;

}  // namespace

ClientSide::ClientSide(Rules rules, NodeInfo self, std::string driver, Time join_limit, Time now)
    : rules_(std::move(rules)),
      self_(std::move(self)),
      driver_("the driver at " + driver),
      join_limit_(join_limit),
      begin_(now),
      last_tick_(now),
      channel_(driver_, rules_, now),
      retry_(now),
      retry_interval_(first_retry),
      greeting_since_(now) {}

void ClientSide::send(std::vector<std::byte> message) {
  if (ended()) throw GoneError("send to " + driver_ + ": it is gone");
  if (leaving_) throw GoneError("send to " + driver_ + ": goodbye is said");
  channel_.send(std::move(message));
}

bool ClientSide::wants_connection(Time now) const { return state_ == State::apart && now >= retry_; }

void ClientSide::connecting(Time now) {
  state_ = State::greeting;
  greeting_since_ = now;
  outgoing_.clear();
  outgoing_.push_back(encode({0, channel_.taken(), Hello{self_, id_, session_}}, rules_.format));
}

void ClientSide::disconnect(const std::string& reason, Time now) {
  if (!connected()) return;
  last_failure_ = reason;
  channel_.detach(now);
  retry_ = now + retry_interval_;
  retry_interval_ = std::min(2 * retry_interval_, longest_retry);
  state_ = State::apart;
}

template <typename Last>
void ClientSide::end(Last last) {
  channel_.detach(last_tick_);
  state_ = State::ended;
  events_.emplace_back(std::move(last));
}

void ClientSide::refuse(const std::string& reason) {
  if (!ended()) end_for("refuses this node: " + reason);
}

void ClientSide::fail(const std::string& reason) {
  if (!ended()) end_for("is out of reach: " + reason);
}

void ClientSide::receive(std::span<const std::byte> bytes, Time now) {
  if (!connected()) return;
  const Decoded decoded = decode(bytes, rules_.format);
  const auto* frame = std::get_if<Frame>(&decoded);
  if (frame == nullptr) {
    const auto* malformed = std::get_if<Malformed>(&decoded);
    return give_up("sent " + (malformed != nullptr ? malformed->why : std::string("a hello")));
  }
  if (const auto* refused = std::get_if<Refuse>(&frame->body)) return refuse(refused->reason);
  if (state_ == State::greeting) return receive_answer(*frame, now);
  receive_frame(*frame, now);
}

void ClientSide::receive_answer(const Frame& frame, Time now) {
  const auto* welcome = std::get_if<Welcome>(&frame.body);
  if (welcome == nullptr) return give_up("did not answer a hello with a welcome");
  if (joined() && welcome->session != session_) return give_up("resumed another session");
  go_by(*welcome);
  if (const auto fault = channel_.attach(frame.acknowledged, now)) return give_up(*fault);
  if (!joined()) events_.emplace_back(Joined{});
  session_ = welcome->session;
  state_ = State::together;
  retry_interval_ = first_retry;
  if (leaving_) outgoing_.push_back(channel_.goodbye());
}

void ClientSide::go_by(const Welcome& welcome) {
  rules_.timing.heartbeat = welcome.heartbeat;
  rules_.timing.silence = welcome.silence;
  rules_.timing.reconnect = welcome.reconnect;
  channel_.go_by(rules_.timing);
}

void ClientSide::receive_frame(const Frame& frame, Time now) {
  Channel::Outcome outcome = channel_.receive(frame, now);
  if (auto* message = std::get_if<Channel::Message>(&outcome)) {
    events_.emplace_back(Message{std::move(message->bytes)});
  } else if (const auto* fault = std::get_if<Channel::Fault>(&outcome)) {
    give_up(fault->what);
  } else if (std::holds_alternative<Channel::Left>(outcome)) {
    if (!leaving_) outgoing_.push_back(channel_.goodbye());
    end(Left{});
  }
}

void ClientSide::tick(Time now) {
  const Time pause = now - std::exchange(last_tick_, now);
  if (ended()) return;
  // Stopped or starved, this side could neither hear nor try.
  if (pause > 2 * rules_.timing.heartbeat) {
    const Time forgiven = pause - rules_.timing.heartbeat;
    channel_.forgive(forgiven, now);
    begin_ += forgiven;
    greeting_since_ += forgiven;
  }
  if (!joined() && now - begin_ > join_limit_) {
    return end(Refused{"joined nothing: " + driver_ + " did not answer for " + seconds_text(now - begin_) + ", " +
                       seconds_text(join_limit_) + " is allowed" +
                       (last_failure_.empty() ? "" : " (" + last_failure_ + ")")});
  }
  const auto absence = joined() ? channel_.absence(now) : std::nullopt;
  if (absence) return give_up(*absence);
  if (state_ == State::greeting && now - greeting_since_ > greeting_limit) {
    disconnect("nobody answers to a hello there", now);
  }
}

Time ClientSide::next() const {
  Time next = std::min(last_tick_ + rules_.timing.heartbeat, channel_.attached() ? channel_.next() : Time::max());
  if (state_ == State::apart) next = std::min(next, retry_);
  return next;
}

std::vector<std::vector<std::byte>> ClientSide::take_outgoing(Time now) {
  channel_.emit(now, outgoing_);
  return std::exchange(outgoing_, {});
}

std::vector<ClientSide::Event> ClientSide::take_events() { return std::exchange(events_, {}); }

void ClientSide::say_goodbye() {
  if (ended()) return;
  if (state_ != State::together) return end(Left{});
  leaving_ = true;
  outgoing_.push_back(channel_.goodbye());
}

void ClientSide::give_up(const std::string& reason) {
  if (channel_.attached()) outgoing_.push_back(encode({0, 0, Refuse{"the driver " + reason}}, rules_.format));
  end_for(reason);
}

void ClientSide::end_for(const std::string& reason) {
  if (joined()) return end(Lost{driver_ + " " + reason});
  end(Refused{driver_ + " " + reason});
}

}  // namespace tandem::comm::control
