#include "tools/interruptible.h"

#include <unistd.h>

#include "tools/commands.h"

namespace tandem::tools {

Interruptible::During::During(Interruptible& interruptible, actors::Run& run) : interruptible_(interruptible) {
  const std::lock_guard lock(interruptible_.mutex_);
  interruptible_.run_ = &run;
  interruptible_.begun_ = true;
}

void Interruptible::end() {
  const std::lock_guard lock(mutex_);
  run_ = nullptr;
}

bool Interruptible::ended() const {
  const std::lock_guard lock(mutex_);
  return begun_ && run_ == nullptr;
}

void Interruptible::interrupt() {
  act([](actors::Run& run) { run.interrupt(); });
}

void Interruptible::cut_short() {
  act([this](actors::Run& run) {
    cut_short_ = true;
    run.cut_short("interrupted");
  });
}

bool Interruptible::was_cut_short() const {
  const std::lock_guard lock(mutex_);
  return cut_short_;
}

template <class Act>
void Interruptible::act(Act act_on) {
  const std::lock_guard lock(mutex_);
  if (!begun_) _exit(exit_interrupted);
  if (run_ != nullptr) act_on(*run_);
}

}  // namespace tandem::tools
