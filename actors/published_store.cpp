#include "actors/published_store.h"

#include "comm/communicator.h"

namespace tandem::actors {

void PublishedStore::put(const std::string& key, std::span<const std::byte> value) {
  const std::lock_guard lock(mutex_);
  values_.emplace(key, std::vector<std::byte>(value.begin(), value.end()));
  changed_.notify_all();
}

void PublishedStore::close(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  if (!closed_) closed_ = reason;
  changed_.notify_all();
}

std::optional<std::vector<std::byte>> PublishedStore::get(const std::string& key,
                                                          std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, deadline, [&] { return closed_ || values_.contains(key); });
  if (closed_) throw comm::AbortedError("connecting with the other ranks: " + *closed_);
  const auto found = values_.find(key);
  if (found == values_.end()) return std::nullopt;
  return found->second;
}

}  // namespace tandem::actors
