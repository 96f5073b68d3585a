#pragma once

#include <pthread.h>
#include <sched.h>

namespace tandem::comm::peer_group {

/// While it lives, threads that this one starts are, for good, such as do not take a core from another thread when they
/// have something to do (SCHED_BATCH). Where there are more threads than cores, one that only carries bytes would
/// interrupt those that compute for every packet; so it finds more to do when its turn comes, and it does not push what
/// they work on out of their caches. Where a core is free it runs at once.
class YieldingThreads {
 public:
  YieldingThreads() : known_(::pthread_getschedparam(::pthread_self(), &policy_, &parameters_) == 0) {
    const sched_param none{};
    if (known_ && policy_ == SCHED_OTHER) ::pthread_setschedparam(::pthread_self(), SCHED_BATCH, &none);
  }
  YieldingThreads(const YieldingThreads&) = delete;
  YieldingThreads& operator=(const YieldingThreads&) = delete;
  ~YieldingThreads() {
    if (known_) ::pthread_setschedparam(::pthread_self(), policy_, &parameters_);
  }

 private:
  int policy_ = SCHED_OTHER;
  sched_param parameters_{};
  const bool known_;
};

}  // namespace tandem::comm::peer_group
