#pragma once

#include <functional>
#include <thread>

namespace tandem::tools {

/// What a signal does. Called on the thread of Interrupts.
struct InterruptActions {
  std::function<void()> first;  ///< at the first signal
  std::function<void()> again;  ///< at the second, or when the run has not ended for a while after the first
  std::function<bool()> ended;  ///< whether the run has ended; then its results are written, however long it takes
};

/// Turns SIGINT, SIGTERM and SIGHUP into calls, on a thread of its own. If the run has not ended
/// `last_patience_seconds` after `again`, or at a third signal, the process ends with status 130. A signal that was
/// ignored when the process started (under nohup, say) stays ignored.
///
/// The signals are blocked in this thread and in all that it starts from then on, so make this before any other thread.
class Interrupts {
 public:
  /// From the first signal to `again`, if there is no second one.
  static constexpr int patience_seconds = 2;
  static constexpr int last_patience_seconds = 3;

  explicit Interrupts(InterruptActions actions);
  /// Stops watching; the signals stay blocked.
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

 private:
  std::jthread thread_;
};

}  // namespace tandem::tools
