#include "comm/gloo/mesh.h"

#include <gloo/transport/tcp/attr.h>
#include <gloo/transport/tcp/device.h>

#include <stdexcept>

#include "comm/blocked_signals.h"
#include "comm/error_text.h"
#include "comm/peer_group/yielding_threads.h"

namespace tandem::comm::gloo_transport {
namespace {

using peer_group::Card;

/// Without the place in Gloo's source.
std::string text_of_error(const std::exception& error) {
  const std::string text = error.what();
  const std::size_t end = text.find("] ");
  return text.starts_with('[') && end != std::string::npos ? text.substr(end + 2) : text;
}

std::shared_ptr<gloo::transport::tcp::Device> make_device(const std::string& address) {
  // For the thread that the device starts.
  const BlockedSignals blocked;
  const peer_group::YieldingThreads yielding;
  try {
    const auto attributes = gloo::transport::tcp::CreateDeviceAttr(gloo::transport::tcp::attr(address.c_str()));
    return std::make_shared<gloo::transport::tcp::Device>(attributes);
  } catch (const std::exception& error) {
    throw CommError("cannot be reached at address \"" + address + "\": " + text_of_error(error));
  }
}

}  // namespace

Mesh::Mesh(const PeerGroupOptions& options, PairWatcher& watcher)
    : options_(options), names_(static_cast<std::size_t>(options.size)) {
  names_[static_cast<std::size_t>(options.rank)] = options.name;
  if (options.size == 1) return;
  context_ = std::make_shared<Context>(make_device(options.address), options.rank, options.size, watcher);
  try {
    for (int peer = 0; peer < options.size; ++peer) {
      if (peer != options.rank) context_->createPair(peer);
    }
  } catch (const std::exception& error) {
    throw CommError("cannot listen at address \"" + options.address + "\": " + text_of_error(error));
  }
}

Mesh::~Mesh() {
  if (!context_) return;
  for (int peer = 0; peer < options_.size; ++peer) {
    if (peer != options_.rank) context_->pair(peer).end();
  }
  context_->stop();
}

std::string Mesh::text_of(int rank) const {
  return peer_group::rank_text(rank, names_[static_cast<std::size_t>(rank)]);
}

Card Mesh::card() const {
  Card card;
  peer_group::append_field(card, options_.name);
  for (int peer = 0; peer < options_.size; ++peer) {
    peer_group::append_field(card,
                             peer == options_.rank ? std::vector<char>() : context_->pair(peer).address().bytes());
  }
  return card;
}

void Mesh::connect(Store& store) {
  if (options_.size == 1) return;
  const Clock::time_point begin = Clock::now();
  const std::vector<Card> cards = peer_group::exchange_cards(store, options_, card(), begin);
  for (int peer = 0; peer < options_.size; ++peer) {
    if (peer != options_.rank) connect_to(store, peer, cards[static_cast<std::size_t>(peer)], begin);
  }
}

void Mesh::connect_to(Store& store, int peer, const Card& card_of_peer, Clock::time_point begin) {
  const auto name = peer_group::field_of(card_of_peer, 0);
  const auto address = peer_group::field_of(card_of_peer, 1 + static_cast<std::size_t>(options_.rank));
  if (!name || !address) peer_group::throw_no_card(peer);
  names_[static_cast<std::size_t>(peer)].assign(name->begin(), name->end());
  const std::string what =
      text_of(options_.rank) + " at " + options_.address + " could not be connected with " + text_of(peer) + ": ";
  Pair& pair = context_->pair(peer);
  pair.set_connect_limits(begin + options_.connect_deadline, [&] { peer_group::check_open(store, options_); });
  try {
    pair.connect(*address);
    pair.set_connect_limits(Clock::time_point::max(), [] {});  // the store may be gone by then
  } catch (const ConnectTimeout& timeout) {
    throw DeadlineError(what + timeout.what() + ": " +
                        waited_text(options_.rank, Clock::now() - begin, options_.connect_deadline));
  } catch (const AbortedError&) {
    throw;
  } catch (const std::exception& error) {
    throw CommError(what + text_of_error(error));
  }
}

}  // namespace tandem::comm::gloo_transport
