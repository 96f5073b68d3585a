#pragma once

#include <mutex>

#include "actors/run.h"

namespace tandem::tools {

/// Brings signals to a run. Before there is one, a signal just ends the process; after it, signals are ignored, as the
/// process is about to end. Safe from any thread.
class Interruptible {
 public:
  /// Brings signals to `run` while it lives.
  class During {
   public:
    During(Interruptible& interruptible, actors::Run& run);
    ~During() { interruptible_.end(); }
    During(const During&) = delete;
    During& operator=(const During&) = delete;

   private:
    Interruptible& interruptible_;
  };

  /// The run has ended; what is left is to write its results.
  void end();
  bool ended() const;

  void interrupt();
  void cut_short();
  bool was_cut_short() const;

 private:
  template <class Act>
  void act(Act act_on);

  mutable std::mutex mutex_;
  actors::Run* run_ = nullptr;
  bool begun_ = false;
  bool cut_short_ = false;
};

}  // namespace tandem::tools
