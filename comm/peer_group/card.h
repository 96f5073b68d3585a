#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/peer_group.h"
#include "comm/store.h"

// How ranks find each other: each leaves a card in the store, a list of fields whose first is its name. A field is its
// length, a 32-bit number, and its bytes.
namespace tandem::comm::peer_group {

using Clock = std::chrono::steady_clock;
using Card = std::vector<std::byte>;

void append_field(Card& card, std::span<const char> field);

/// Field `number`; nothing if the card has no such field.
std::optional<std::vector<char>> field_of(std::span<const std::byte> card, std::size_t number);

/// Leaves this rank's card in the store, and waits for those of the others from `begin` on, at most for the connect
/// deadline: by rank, this rank's own included. Throws DeadlineError naming the ranks whose cards did not come.
std::vector<Card> exchange_cards(Store& store, const PeerGroupOptions& options, Card own, Clock::time_point begin);

/// Throws what the store throws if it can no longer be used: nobody wants the group any more. To be called every
/// `connect_patience` by whoever waits for connections. The own card is in the store.
void check_open(Store& store, const PeerGroupOptions& options);
inline constexpr std::chrono::milliseconds connect_patience(100);

/// For a card that lacks fields.
[[noreturn]] void throw_no_card(int rank);

/// "rank 2 (host b)"; "rank 2" without a name.
std::string rank_text(int rank, const std::string& name);

}  // namespace tandem::comm::peer_group
