#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "comm/store.h"

namespace tandem::comm::test {

/// A Store for the threads of one process.
class MemoryStore : public Store {
 public:
  void set(const std::string& key, std::span<const std::byte> value) override {
    {
      const std::lock_guard lock(mutex_);
      if (!values_.try_emplace(key, value.begin(), value.end()).second) throw std::logic_error(key + " is set already");
    }
    changed_.notify_all();
  }

  std::optional<std::vector<std::byte>> get(const std::string& key,
                                            std::chrono::steady_clock::time_point deadline) override {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_until(lock, deadline, [&] { return values_.contains(key); })) return std::nullopt;
    return values_.at(key);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::vector<std::byte>> values_;
};

}  // namespace tandem::comm::test
