#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "comm/peer_group/frame.h"

namespace tandem::comm::peer_group {

/// What a message is found by.
struct Wanted {
  std::span<const int> from;
  FrameKind kind = FrameKind::message;
  std::uint32_t tag = 0;

  bool includes(int rank) const;
};

/// A message that has come: in the frames that it came in, or, if it is short, in memory of its own.
struct Parcel {
  int from = 0;
  FrameKind kind = FrameKind::message;
  std::uint32_t tag = 0;
  std::uint64_t size = 0;      // bytes
  std::uint64_t received = 0;  // of these
  std::uint64_t number = 0;    // in the order in which messages began to arrive
  std::vector<std::byte> bytes;
  std::vector<FramePointer> frames;

  bool complete() const { return received == size; }
  /// To memory of `size` bytes.
  void copy_to(std::span<std::byte> data) const;
};

/// The messages that have come and that nobody has received yet. Owner only.
class Mailbox {
 public:
  explicit Mailbox(int ranks) : parcels_(static_cast<std::size_t>(ranks)) {}

  /// Adds the part that a frame shows to its message, or begins a message; takes the frame unless the message is short,
  /// and so copied. Returns whether the message is complete now. Throws std::runtime_error if the part does not fit
  /// what came before.
  bool add(int from, FramePointer& frame);

  /// Adds a message that never was a frame.
  void add(int from, FrameKind kind, std::uint32_t tag, std::span<const std::byte> data);

  /// Of the complete messages that are wanted the one that came first.
  std::optional<Parcel> take(const Wanted& wanted);

 private:
  using Parcels = std::deque<Parcel>;  // in order of arrival; only the last one may be incomplete

  Parcel& begin(int from, const FrameHeader& header);

  std::vector<Parcels> parcels_;  // by sender
  std::uint64_t arrivals_ = 0;
};

}  // namespace tandem::comm::peer_group
