#pragma once

#include <functional>
#include <thread>

namespace tandem::tools {

/// Turns SIGINT, SIGTERM and SIGHUP into calls, on a thread of its own: `first` for the first, `again` for the second
/// or when the run has not ended `patience_seconds` after the first. If nothing helps, the process ends with status 130
/// as long again after that, or at a third signal.
///
/// The signals are blocked in this thread and in all that it starts from then on, so make this before any other thread.
class Interrupts {
 public:
  static constexpr int patience_seconds = 2;

  Interrupts(std::function<void()> first, std::function<void()> again);
  /// Stops watching; the signals stay blocked.
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

 private:
  std::jthread thread_;
};

}  // namespace tandem::tools
