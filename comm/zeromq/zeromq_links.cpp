#include "comm/zeromq/zeromq_links.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <utility>

#include "comm/blocked_signals.h"
#include "comm/error_text.h"
#include "comm/keys.h"
#include "comm/zeromq/zeromq_frame.h"

namespace tandem::comm::zeromq {
namespace {

using peer_group::Card;
using peer_group::Clock;
using peer_group::FrameKind;
using peer_group::FrameParts;
using peer_group::FramePointer;

// Threads of ZeroMQ that encrypt and decrypt, among which it shares out the connections.
constexpr int kNetworkThreads = 2;

// The fields of a card.
enum Field { name, endpoint, public_key };

std::string text_field(const Card& card, int peer, Field number) {
  const auto field = peer_group::field_of(card, number);
  if (!field) peer_group::throw_no_card(peer);
  return {field->begin(), field->end()};
}

}  // namespace

ZeromqLinks::Sockets::Sockets(const PeerGroupOptions& options, const KeyPair& keys) try
    : context(kNetworkThreads),
      inbox(context, {.address = options.address,
                      .keys = keys,
                      .handshake_limit = options.connect_deadline,
                      .largest_message = sizeof(FrameNumber) + peer_group::frame_capacity}),
      outbox(context, keys, options.connect_deadline) {
} catch (const zmq::error_t& error) {
  throw CommError("cannot listen at address \"" + options.address + "\": " + error.what());
}

ZeromqLinks::ZeromqLinks(Store& store, const PeerGroupOptions& options)
    : Links(options), flows_(static_cast<std::size_t>(options.size)), names_(static_cast<std::size_t>(options.size)) {
  names_[static_cast<std::size_t>(options.rank)] = options.name;
  if (options.size > 1) connect(store, options);
}

ZeromqLinks::~ZeromqLinks() {
  if (!sockets_) return;
  leave();
  stop();
}

void ZeromqLinks::connect(Store& store, const PeerGroupOptions& options) {
  const Clock::time_point begin = Clock::now();
  const KeyPair keys = make_key_pair();
  sockets_.emplace(options, keys);
  Card own;
  for (const std::string& field : {options.name, sockets_->inbox.endpoint(), keys.public_key}) {
    peer_group::append_field(own, field);
  }
  const std::vector<Card> cards = peer_group::exchange_cards(store, options, std::move(own), begin);
  for (int peer = 0; peer < options.size; ++peer) {
    if (peer == options.rank) continue;
    const Card& card = cards[static_cast<std::size_t>(peer)];
    names_[static_cast<std::size_t>(peer)] = text_field(card, peer, Field::name);
    sockets_->inbox.accept(peer, text_field(card, peer, Field::public_key));
  }
  for (int peer = 0; peer < options.size; ++peer) {
    if (peer != options.rank) connect_to(peer, cards[static_cast<std::size_t>(peer)]);
  }
  {
    const BlockedSignals blocked;
    service_ = std::thread([this] { serve(); });
  }
  try {
    await_connections(store, options, begin);
  } catch (...) {
    stop();
    throw;
  }
}

void ZeromqLinks::connect_to(int peer, const Card& card) {
  try {
    sockets_->outbox.connect(peer, text_field(card, peer, Field::endpoint), text_field(card, peer, Field::public_key));
  } catch (const zmq::error_t&) {
    peer_group::throw_no_card(peer);
  }
  Lock lock(mutex_);
  send_frame(lock, peer, {{{.kind = FrameKind::hello}, {}}});
}

void ZeromqLinks::await_connections(Store& store, const PeerGroupOptions& options, Clock::time_point begin) {
  Lock lock(mutex_);
  const Clock::time_point deadline = begin + options.connect_deadline;
  const auto decided = [&] { return cause(lock) || unconnected(lock).empty(); };
  while (!connections_changed_.wait_until(lock, std::min(deadline, Clock::now() + peer_group::connect_patience),
                                          decided)) {
    if (Clock::now() >= deadline) break;
    peer_group::check_open(store, options);
  }
  const std::string what = text_of(lock, rank()) + " at " + options.address + " could not be connected with ";
  if (cause(lock)) throw CommError(what + "all others: " + *cause(lock));
  const std::vector<int> missing = unconnected(lock);
  if (missing.empty()) return;
  throw DeadlineError(what + (missing.size() == 1 ? text_of(lock, missing.front()) : ranks_text(missing)) +
                      ": no answer: " + waited_text(rank(), Clock::now() - begin, options.connect_deadline));
}

std::vector<int> ZeromqLinks::unconnected(const Lock&) const {
  std::vector<int> ranks;
  for (int peer = 0; peer < size(); ++peer) {
    if (peer != rank() && !(flow(peer).connected && flow(peer).said_hello)) ranks.push_back(peer);
  }
  return ranks;
}

void ZeromqLinks::stop() {
  {
    const Lock lock(mutex_);
    stopping_ = true;
    wake_service(lock);
  }
  service_.join();
}

std::string ZeromqLinks::text_of(const Lock&, int rank) const {
  return peer_group::rank_text(rank, names_[static_cast<std::size_t>(rank)]);
}

void ZeromqLinks::wake_service(const Lock&) noexcept {
  wakeup_.wake();
  connections_changed_.notify_all();
}

void ZeromqLinks::send_frame(Lock& lock, int to, const FrameParts& parts) {
  lock.unlock();
  zmq::message_t message = make_message(parts);
  lock.lock();
  if (peer(to).closed) return;
  set_number(message, flow(to).sent++);
  bytes_sent_ += message.size() + bytes_beside_message;
  if (!sockets_->outbox.send(to, std::move(message))) close(lock, to);
}

void ZeromqLinks::serve() {
  try {
    std::vector<zmq_pollitem_t> items = {{nullptr, wakeup_.file(), ZMQ_POLLIN, 0}};
    sockets_->inbox.add_to(items);
    sockets_->outbox.add_to(items);
    for (;;) {
      zeromq::wait_for(items, longest_wait);
      wakeup_.clear();
      sockets_->inbox.answer_keys();
      take_messages();
      take_events();
      Lock lock(mutex_);
      if (stopping_) return;
      for (int other = 0; other < size(); ++other) {
        if (other != rank()) tell(lock, other);
      }
    }
  } catch (const std::exception& error) {
    // The others find out when this rank's connections are closed.
    const Lock lock(mutex_);
    fail_service(lock, error);
  }
}

void ZeromqLinks::take_messages() {
  while (auto arrival = sockets_->inbox.next()) take_message(std::move(*arrival));
}

void ZeromqLinks::take_message(Inbox::Arrival arrival) {
  const Lock lock(mutex_);
  try {
    auto frame = std::make_unique<ZeromqFrame>(std::move(arrival.message));
    Flow& from = flow(arrival.rank);
    const std::uint64_t due = from.received++;
    if (frame->number() != due) {
      throw std::runtime_error("frame " + std::to_string(frame->number()) + " where " + std::to_string(due) +
                               " was due");
    }
    if (due == 0 && frame->header().kind == FrameKind::hello) {
      from.said_hello = true;
      return connections_changed_.notify_all();
    }
    FramePointer taken = std::move(frame);
    take_frame(lock, arrival.rank, taken);
  } catch (const std::runtime_error& error) {
    fail(lock, "from " + text_of(lock, arrival.rank) + " came " + error.what());
  }
}

/// A rank may have said last why its connections end.
void ZeromqLinks::take_events() {
  while (const auto event = sockets_->outbox.next()) {
    if (!event->connected) take_messages();
    take_event(*event);
  }
  while (const auto rank = sockets_->inbox.next_closed()) {
    take_messages();
    const Lock lock(mutex_);
    close(lock, *rank);
  }
}

void ZeromqLinks::take_event(const Outbox::Event& event) {
  const Lock lock(mutex_);
  if (event.connected) {
    flow(event.rank).connected = true;
    return connections_changed_.notify_all();
  }
  if (!flow(event.rank).connected) fail(lock, text_of(lock, event.rank) + " cannot be reached: " + event.why);
  close(lock, event.rank);
}

}  // namespace tandem::comm::zeromq
