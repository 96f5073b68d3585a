#include "comm/gloo/mesh.h"

#include <gloo/transport/tcp/attr.h>
#include <gloo/transport/tcp/device.h>

#include <cstring>
#include <optional>
#include <span>
#include <stdexcept>

#include "comm/error_text.h"
#include "comm/gloo/signals.h"

namespace tandem::comm::gloo_transport {
namespace {

// A card is a list of fields, each of them its length, a 32-bit number, and its bytes: the name, then an address for
// each rank in their order, where its own is empty.
using Field = std::span<const char>;

void append(std::vector<std::byte>& card, Field field) {
  const auto size = static_cast<std::uint32_t>(field.size());
  const auto bytes_of_size = std::as_bytes(std::span(&size, 1));
  const auto bytes = std::as_bytes(field);
  card.insert(card.end(), bytes_of_size.begin(), bytes_of_size.end());
  card.insert(card.end(), bytes.begin(), bytes.end());
}

/// Field `number`; nothing if the card has no such field.
std::optional<std::vector<char>> field_of(std::span<const std::byte> card, std::size_t number) {
  for (;; --number) {
    std::uint32_t size = 0;
    if (card.size() < sizeof(size)) return std::nullopt;
    std::memcpy(&size, card.data(), sizeof(size));
    card = card.subspan(sizeof(size));
    if (card.size() < size) return std::nullopt;
    if (number == 0) {
      std::vector<char> field(size);
      std::memcpy(field.data(), card.data(), size);
      return field;
    }
    card = card.subspan(size);
  }
}

/// Without the place in Gloo's source.
std::string text_of_error(const std::exception& error) {
  const std::string text = error.what();
  const std::size_t end = text.find("] ");
  return text.starts_with('[') && end != std::string::npos ? text.substr(end + 2) : text;
}

std::shared_ptr<gloo::transport::tcp::Device> make_device(const std::string& address) {
  if (address.empty()) throw std::invalid_argument("a group over Gloo needs an address to be reached at");
  const BlockedSignals blocked;  // on the thread that the device starts, too
  try {
    const auto attributes = gloo::transport::tcp::CreateDeviceAttr(gloo::transport::tcp::attr(address.c_str()));
    return std::make_shared<gloo::transport::tcp::Device>(attributes);
  } catch (const std::exception& error) {
    throw CommError("cannot be reached at address \"" + address + "\": " + text_of_error(error));
  }
}

}  // namespace

Mesh::Mesh(const GlooOptions& options, PairWatcher& watcher)
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
  const std::string& name = names_[static_cast<std::size_t>(rank)];
  return "rank " + std::to_string(rank) + (name.empty() ? "" : " (" + name + ")");
}

Mesh::Bytes Mesh::card() const {
  Bytes card;
  append(card, options_.name);
  for (int peer = 0; peer < options_.size; ++peer) {
    append(card, peer == options_.rank ? std::vector<char>() : context_->pair(peer).address().bytes());
  }
  return card;
}

void Mesh::connect(Store& store) {
  if (options_.size == 1) return;
  const Clock::time_point begin = Clock::now();
  const auto key = [&](int rank) { return options_.key_prefix + "/rank/" + std::to_string(rank); };
  store.set(key(options_.rank), card());
  std::vector<std::optional<Bytes>> cards(names_.size());
  std::vector<int> missing;
  for (int peer = 0; peer < options_.size; ++peer) {
    if (peer == options_.rank) continue;
    auto& card_of_peer = cards[static_cast<std::size_t>(peer)];
    card_of_peer = store.get(key(peer), begin + options_.connect_deadline);
    if (!card_of_peer) missing.push_back(peer);
  }
  if (!missing.empty()) {
    throw DeadlineError(ranks_text(missing) + " did not come to the group in time: " +
                        waited_text(options_.rank, Clock::now() - begin, options_.connect_deadline));
  }
  for (int peer = 0; peer < options_.size; ++peer) {
    if (peer != options_.rank) connect_to(peer, *cards[static_cast<std::size_t>(peer)], begin);
  }
}

void Mesh::connect_to(int peer, const Bytes& card_of_peer, Clock::time_point begin) {
  const auto name = field_of(card_of_peer, 0);
  const auto address = field_of(card_of_peer, 1 + static_cast<std::size_t>(options_.rank));
  if (!name || !address) throw CommError("what " + text_of(peer) + " left in the store is no address card");
  names_[static_cast<std::size_t>(peer)].assign(name->begin(), name->end());
  const std::string what =
      text_of(options_.rank) + " at " + options_.address + " could not be connected with " + text_of(peer) + ": ";
  Pair& pair = context_->pair(peer);
  pair.set_connect_deadline(begin + options_.connect_deadline);
  try {
    pair.connect(*address);
  } catch (const ConnectTimeout& timeout) {
    throw DeadlineError(what + timeout.what() + ": " +
                        waited_text(options_.rank, Clock::now() - begin, options_.connect_deadline));
  } catch (const std::exception& error) {
    throw CommError(what + text_of_error(error));
  }
}

}  // namespace tandem::comm::gloo_transport
