#pragma once

#include <caf/all.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "actors/messages.h"

namespace tandem::actors {

/// An actor's message on its way to another process.
struct Parcel {
  /// Stands for the one actor of a process that others find without knowing it: the driver, or the node.
  static constexpr caf::actor_id root = std::numeric_limits<caf::actor_id>::max();
  static constexpr caf::actor_id nobody = 0;

  caf::actor_id receiver = root;
  caf::actor_id sender = nobody;
  caf::message content;
};

/// Its bytes; unset if the message is none of `Messages`, MessagesToNode or MessagesToDriver.
template <class Messages>
std::optional<std::vector<std::byte>> pack(const Parcel& parcel, caf::execution_unit& context);

/// The inverse; `context` must be a ForeignActors, for handles. Throws std::runtime_error for bytes that are no message
/// of the list.
template <class Messages>
Parcel unpack(std::span<const std::byte> bytes, caf::execution_unit& context);

extern template std::optional<std::vector<std::byte>> pack<MessagesToNode>(const Parcel&, caf::execution_unit&);
extern template std::optional<std::vector<std::byte>> pack<MessagesToDriver>(const Parcel&, caf::execution_unit&);
extern template Parcel unpack<MessagesToNode>(std::span<const std::byte>, caf::execution_unit&);
extern template Parcel unpack<MessagesToDriver>(std::span<const std::byte>, caf::execution_unit&);

}  // namespace tandem::actors
