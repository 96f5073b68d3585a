#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "comm/control/node.h"

namespace tandem::comm::control {

/// The books on the messages of one session, in both directions: what was sent, what the other side has taken, and what
/// this side has taken.
///
/// Invariants
///   1. Messages sent are numbered from 1. Those that are not acknowledged are kept, in order; each of them is either
///      under way or waiting to be sent, and all that wait come after all that are under way.
///   2. Messages are taken in the order of their numbers, each once.
///
/// Owner only.
class Delivery {
 public:
  using Message = std::vector<std::byte>;

  /// What a message counts as besides its bytes.
  static constexpr std::size_t message_overhead = 64;

  /// With so many bytes under way, overheads included, the other side's acknowledgment is waited for before more is
  /// sent: what is under way is in memory several times.
  static constexpr std::size_t most_under_way = std::size_t{16} << 20;

  /// `peer` names the other side in errors. Messages are kept up to `backlog` bytes in all, overheads included.
  Delivery(std::string peer, std::size_t backlog);

  /// Takes a message to send. Throws BacklogError if too much is kept already.
  void push(Message message);

  struct Numbered {
    std::uint64_t sequence;
    const Message& message;
  };
  /// The next message that waits to be sent, now under way; valid until the next call. None while as much is under way
  /// as may be.
  std::optional<Numbered> next_to_send();

  /// The other side has taken all up to `sequence`. Returns what is wrong with that, if anything is.
  [[nodiscard]] std::optional<std::string> acknowledge(std::uint64_t sequence);

  /// A new connection: the other side has taken all up to `sequence`, and what is above it waits to be sent again.
  /// Returns what is wrong with that, if anything is.
  [[nodiscard]] std::optional<std::string> resume(std::uint64_t sequence);

  enum class Arrival { next, duplicate, gap };
  /// A message with that number has come; the next one counts as taken.
  Arrival arrive(std::uint64_t sequence);

  /// "data 5 was due, data 7 came", for a gap.
  std::string gap_text(std::uint64_t sequence) const;
  /// "data 5 was due, up to data 7 was sent", where the other side says so and they should be here.
  std::string loss_text(std::uint64_t sequence) const;

  /// The last number under way or acknowledged, the last acknowledged, and the last taken from the other side.
  std::uint64_t sent() const { return acknowledged_ + under_way_; }
  std::uint64_t acknowledged() const { return acknowledged_; }
  std::uint64_t taken() const { return taken_; }
  bool all_acknowledged() const { return kept_.empty(); }

 private:
  const std::string peer_;
  const std::size_t backlog_;
  std::deque<Message> kept_;  // the first has the number acknowledged_ + 1
  std::size_t kept_bytes_ = 0;
  std::size_t under_way_ = 0;  // of kept_, from its front
  std::size_t under_way_bytes_ = 0;
  std::uint64_t acknowledged_ = 0;
  std::uint64_t taken_ = 0;
};

}  // namespace tandem::comm::control
