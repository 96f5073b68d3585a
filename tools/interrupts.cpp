#include "tools/interrupts.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <optional>
#include <stop_token>
#include <utility>

#include "tools/commands.h"

namespace tandem::tools {
namespace {

// Wakes the watch when it is to stop. Others may send it too (Slurm does, if asked to), which means nothing.
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

// Without `patience_seconds` it waits for as long as it takes.
Event wait_for_event(const std::stop_token& stop, const sigset_t& set, std::optional<int> patience_seconds = {}) {
  const timespec patience{patience_seconds.value_or(0), 0};
  for (;;) {
    const int signal = sigtimedwait(&set, nullptr, patience_seconds ? &patience : nullptr);
    if (stop.stop_requested()) return Event::stop;
    if (signal > 0 && signal != stop_signal) return Event::interrupt;
    if (signal < 0 && errno == EAGAIN) return Event::patience_over;
  }
}

void watch(const std::stop_token& stop, const sigset_t& set, const InterruptActions& actions) {
  if (wait_for_event(stop, set) == Event::stop) return;
  actions.first();
  if (wait_for_event(stop, set, Interrupts::patience_seconds) == Event::stop) return;
  actions.again();
  for (;;) {
    const Event event = wait_for_event(stop, set, Interrupts::last_patience_seconds);
    if (event == Event::stop) return;
    if (event == Event::interrupt || !actions.ended()) _exit(exit_interrupted);
  }
}

}  // namespace

Interrupts::Interrupts(InterruptActions actions) {
  const sigset_t set = watched_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  thread_ =
      std::jthread([set, actions = std::move(actions)](const std::stop_token& stop) { watch(stop, set, actions); });
}

Interrupts::~Interrupts() {
  thread_.request_stop();
  pthread_kill(thread_.native_handle(), stop_signal);
}

}  // namespace tandem::tools
