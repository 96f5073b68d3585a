#include "comm/peer_group/card.h"

#include <cstdint>
#include <cstring>
#include <utility>

#include "comm/error_text.h"

namespace tandem::comm::peer_group {
namespace {

std::string key_of(const PeerGroupOptions& options, int rank) {
  return options.key_prefix + "/rank/" + std::to_string(rank);
}

}  // namespace

void append_field(Card& card, std::span<const char> field) {
  const auto size = static_cast<std::uint32_t>(field.size());
  const auto bytes_of_size = std::as_bytes(std::span(&size, 1));
  const auto bytes = std::as_bytes(field);
  card.insert(card.end(), bytes_of_size.begin(), bytes_of_size.end());
  card.insert(card.end(), bytes.begin(), bytes.end());
}

std::optional<std::vector<char>> field_of(std::span<const std::byte> card, std::size_t number) {
  for (;; --number) {
    std::uint32_t size = 0;
    if (card.size() < sizeof(size)) return std::nullopt;
    std::memcpy(&size, card.data(), sizeof(size));
    card = card.subspan(sizeof(size));
    if (card.size() < size) return std::nullopt;
    if (number == 0) {
      const auto* const begin = reinterpret_cast<const char*>(card.data());
      return std::vector<char>(begin, begin + size);
    }
    card = card.subspan(size);
  }
}

std::vector<Card> exchange_cards(Store& store, const PeerGroupOptions& options, Card own, Clock::time_point begin) {
  store.set(key_of(options, options.rank), own);
  std::vector<Card> cards(static_cast<std::size_t>(options.size));
  std::vector<int> missing;
  for (int rank = 0; rank < options.size; ++rank) {
    auto& card = cards[static_cast<std::size_t>(rank)];
    if (rank == options.rank) {
      card = std::move(own);
    } else if (auto found = store.get(key_of(options, rank), begin + options.connect_deadline)) {
      card = std::move(*found);
    } else {
      missing.push_back(rank);
    }
  }
  if (missing.empty()) return cards;
  throw DeadlineError(ranks_text(missing) + " did not come to the group in time: " +
                      waited_text(options.rank, Clock::now() - begin, options.connect_deadline));
}

void check_open(Store& store, const PeerGroupOptions& options) {
  (void)store.get(key_of(options, options.rank), Clock::now());
}

void throw_no_card(int rank) {
  throw CommError("what rank " + std::to_string(rank) + " left in the store is no address card");
}

std::string rank_text(int rank, const std::string& name) {
  return "rank " + std::to_string(rank) + (name.empty() ? "" : " (" + name + ")");
}

}  // namespace tandem::comm::peer_group
