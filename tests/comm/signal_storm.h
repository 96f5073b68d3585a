#pragma once

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

namespace tandem::test {

/// While it lives, signals keep coming to every thread of this process that does not block them, and are handled, as in
/// a program with a timer or a profiler.
class SignalStorm {
 public:
  SignalStorm() {
    struct sigaction action {};
    action.sa_handler = [](int) {};
    ::sigaction(kSignal, &action, &before_);
    thread_ = std::jthread([](const std::stop_token& stop) { blow(stop); });
  }
  SignalStorm(const SignalStorm&) = delete;
  SignalStorm& operator=(const SignalStorm&) = delete;
  ~SignalStorm() {
    thread_.request_stop();
    thread_.join();
    ::sigaction(kSignal, &before_, nullptr);
  }

 private:
  static constexpr int kSignal = SIGUSR2;

  static void blow(const std::stop_token& stop) {
    sigset_t own;
    ::sigemptyset(&own);
    ::sigaddset(&own, kSignal);
    ::pthread_sigmask(SIG_BLOCK, &own, nullptr);
    while (!stop.stop_requested()) {
      std::error_code gone;  // a thread that ends meanwhile
      for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", gone)) {
        ::syscall(SYS_tgkill, ::getpid(), std::stoi(task.path().filename()), kSignal);
      }
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  }

  struct sigaction before_ {};
  std::jthread thread_;
};

}  // namespace tandem::test
