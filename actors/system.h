#pragma once

#include <caf/all.hpp>

#include <memory>

namespace tandem::actors {

/// A CAF system for the actors of one process.
class System {
 public:
  System();

  caf::actor_system& actors() { return *actors_; }

  /// Leaves it to the end of the process: for actors that are stuck, under which it cannot be taken down.
  void abandon();

 private:
  std::unique_ptr<caf::actor_system_config> config_;
  std::unique_ptr<caf::actor_system> actors_;
};

}  // namespace tandem::actors
