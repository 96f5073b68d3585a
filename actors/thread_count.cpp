#include "actors/thread_count.h"

#include <functional>
#include <utility>

namespace tandem::actors {
namespace {

struct AtThreadExit {
  ~AtThreadExit() {
    if (action) action();
  }
  std::function<void()> action;
};

}  // namespace

void ThreadCount::add() {
  const std::lock_guard lock(mutex_);
  ++count_;
}

void ThreadCount::leave_at_exit() {
  thread_local AtThreadExit at_exit;
  at_exit.action = [self = shared_from_this()] { self->leave(); };
}

void ThreadCount::await_none() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return count_ == 0; });
}

void ThreadCount::leave() {
  const std::lock_guard lock(mutex_);
  --count_;
  changed_.notify_all();
}

}  // namespace tandem::actors
