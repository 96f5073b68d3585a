#include "actors/system.h"

#include "actors/messages.h"

namespace tandem::actors {
namespace {

// CAF's default scheduler steals work by polling, which eats a core; driver and node need little.
struct Config : caf::actor_system_config {
  Config() {
    add_message_types<caf::id_block::tandem>();
    set("scheduler.policy", caf::atom("sharing"));
    set("scheduler.max-threads", 2);
  }
};

}  // namespace

System::System() : config_(std::make_unique<Config>()), actors_(std::make_unique<caf::actor_system>(*config_)) {}

void System::abandon() {
  (void)actors_.release();
  (void)config_.release();
}

}  // namespace tandem::actors
