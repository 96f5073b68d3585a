#pragma once

#include <caf/all.hpp>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "actors/bridge/parcel.h"

namespace tandem::actors {

/// How a parcel leaves this process. Safe from any thread; must not block or throw.
using Dispatch = std::function<void(Parcel parcel)>;

/// The actors of another process, as handles of this one. Whatever is sent to such a handle goes out as a parcel, from
/// the thread of its sender. Safe from any thread.
class Peer final : caf::proxy_registry::backend {
 public:
  Peer(caf::actor_system& system, Dispatch dispatch);
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  /// As end().
  ~Peer() override;

  /// The one actor of that process that need not be known to be found.
  caf::actor root();

  /// Hands a message of that process to the actor that it is for: `root_here` if it is for the root, and nobody if that
  /// actor has ended. Throws std::runtime_error if the bytes are no message.
  template <class Messages>
  void deliver(std::span<const std::byte> bytes, const caf::actor& root_here);

  /// The process is gone: nothing is sent to it any more.
  void end();

 private:
  struct Way;

  caf::actor find(caf::actor_id id);
  caf::strong_actor_ptr make_proxy(caf::node_id node, caf::actor_id id) override;
  void set_last_hop(caf::node_id*) override {}

  caf::actor_system& system_;
  const caf::node_id id_;
  const std::shared_ptr<Way> way_;
  caf::proxy_registry proxies_;
};

extern template void Peer::deliver<MessagesToNode>(std::span<const std::byte>, const caf::actor&);
extern template void Peer::deliver<MessagesToDriver>(std::span<const std::byte>, const caf::actor&);

/// The bytes of a parcel as pack() says.
template <class Messages>
std::optional<std::vector<std::byte>> bytes_of(caf::actor_system& system, const Parcel& parcel) {
  caf::scoped_execution_unit context(&system);
  return pack<Messages>(parcel, context);
}

}  // namespace tandem::actors
