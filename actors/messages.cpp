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

}  // namespace tandem::actors
