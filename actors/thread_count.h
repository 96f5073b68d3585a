#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>

namespace tandem::actors {

/// The threads of a run's workers, reducers and parameter servers. An actor that has told its end still has a thread
/// that cleans up; this is how to wait for the threads themselves. Safe from any thread.
class ThreadCount : public std::enable_shared_from_this<ThreadCount> {
 public:
  /// A thread was started that calls leave_at_exit(); it may have done so, and even have ended, before.
  void add();
  /// Called on that thread: it no longer counts once it exits, after all that runs on it.
  void leave_at_exit();
  /// Waits until no thread counts. All must have been added.
  void await_none();

 private:
  void leave();

  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
};

}  // namespace tandem::actors
