#pragma once

#include <signal.h>

#include <ctime>

// What keeps signals off Gloo: it writes to sockets without MSG_NOSIGNAL, and its threads are not for handlers.
namespace tandem::comm::gloo_transport {

/// While it lives, this thread, and those that it starts for good, receive no signals.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;
  ~BlockedSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

/// While it lives, this thread may write to connections that are closed. Not for a thread to which others send SIGPIPE.
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
