#include "actors/messages.h"

#include <stdexcept>

namespace tandem::actors {

const char* name(ActorKind kind) {
  switch (kind) {
    case ActorKind::worker:
      return "worker";
    case ActorKind::reducer:
      return "reducer";
    case ActorKind::parameter_server:
      return "parameter server";
    case ActorKind::node:
      return "node";
    case ActorKind::driver:
      return "driver";
  }
  throw std::logic_error("unknown kind of actor");
}

namespace detail {

void expose(const caf::actor& actor) { actor.home_system().registry().put(actor.id(), actor); }

caf::error find(caf::actor& actor, caf::actor_id id, caf::execution_unit* context) {
  auto* actors = dynamic_cast<ForeignActors*>(context);
  if (actors == nullptr || id == caf::invalid_actor_id) return caf::sec::no_proxy_registry;
  actor = actors->find(id);
  return caf::none;
}

}  // namespace detail

}  // namespace tandem::actors
