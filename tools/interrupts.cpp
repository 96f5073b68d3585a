#include "tools/interrupts.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

#include "tools/commands.h"

namespace tandem::tools {
namespace {

// Ends the watch; nobody else sends it to this process.
constexpr int stop_signal = SIGUSR1;

bool is_ignored(int signal) {
  struct sigaction action {};
  sigaction(signal, nullptr, &action);
  return action.sa_handler == SIG_IGN;
}

// sigtimedwait would return signals that are ignored, too.
sigset_t watched_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, stop_signal);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    if (!is_ignored(signal)) sigaddset(&set, signal);
  }
  return set;
}

enum class Event { interrupt, patience_over, stop };

Event wait_for_event(const sigset_t& set, bool forever) {
  const timespec patience{Interrupts::patience_seconds, 0};
  for (;;) {
    const int signal = sigtimedwait(&set, nullptr, forever ? nullptr : &patience);
    if (signal == stop_signal) return Event::stop;
    if (signal > 0) return Event::interrupt;
    if (errno == EAGAIN) return Event::patience_over;
  }
}

void watch(const sigset_t& set, const InterruptActions& actions) {
  if (wait_for_event(set, true) == Event::stop) return;
  actions.first();
  if (wait_for_event(set, false) == Event::stop) return;
  actions.again();
  for (;;) {
    const Event event = wait_for_event(set, false);
    if (event == Event::stop) return;
    if (event == Event::interrupt || !actions.ended()) _exit(exit_interrupted);
  }
}

}  // namespace

Interrupts::Interrupts(InterruptActions actions) {
  const sigset_t set = watched_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  thread_ = std::jthread([set, actions = std::move(actions)] { watch(set, actions); });
}

Interrupts::~Interrupts() { pthread_kill(thread_.native_handle(), stop_signal); }

}  // namespace tandem::tools
