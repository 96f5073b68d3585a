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

sigset_t watched() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, stop_signal}) sigaddset(&set, signal);
  return set;
}

enum class Event { interrupt, patience_over, stop };

Event wait_for_event(bool forever) {
  const sigset_t set = watched();
  const timespec patience{Interrupts::patience_seconds, 0};
  for (;;) {
    const int signal = sigtimedwait(&set, nullptr, forever ? nullptr : &patience);
    if (signal == stop_signal) return Event::stop;
    if (signal > 0) return Event::interrupt;
    if (errno == EAGAIN) return Event::patience_over;
  }
}

void watch(const std::function<void()>& first, const std::function<void()>& again) {
  if (wait_for_event(true) == Event::stop) return;
  first();
  if (wait_for_event(false) == Event::stop) return;
  again();
  if (wait_for_event(false) == Event::stop) return;
  _exit(exit_interrupted);
}

}  // namespace

Interrupts::Interrupts(std::function<void()> first, std::function<void()> again) {
  const sigset_t set = watched();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  thread_ = std::jthread([first = std::move(first), again = std::move(again)] { watch(first, again); });
}

Interrupts::~Interrupts() { pthread_kill(thread_.native_handle(), stop_signal); }

}  // namespace tandem::tools
