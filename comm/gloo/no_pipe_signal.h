#pragma once

#include <signal.h>

#include <ctime>

namespace tandem::comm::gloo_transport {

/// While it lives, this thread may write to connections that are closed, though Gloo does so without MSG_NOSIGNAL. Not
/// for a thread to which others send SIGPIPE.
class NoPipeSignal {
 public:
  NoPipeSignal() {
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;
  ~NoPipeSignal() {
    if (::sigismember(&before_, SIGPIPE) == 1) return;
    // A write raises it for the writing thread, where it now waits.
    const timespec at_once{};
    while (::sigtimedwait(&pipe_, nullptr, &at_once) == SIGPIPE) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t pipe_;
  sigset_t before_;
};

}  // namespace tandem::comm::gloo_transport
