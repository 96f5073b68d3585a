#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "comm/store.h"

namespace tandem::actors {

/// A Store whose keys the driver brings to all nodes: what one sets is published, and what is published is put into
/// every node's. Safe from any thread.
class PublishedStore final : public comm::Store {
 public:
  using Publish = std::function<void(const std::string& key, std::span<const std::byte> value)>;

  explicit PublishedStore(Publish publish) : publish_(std::move(publish)) {}

  /// What has come from the driver.
  void put(const std::string& key, std::span<const std::byte> value);

  /// From now on get() throws comm::AbortedError with `reason`, also where it waits.
  void close(const std::string& reason);

  void set(const std::string& key, std::span<const std::byte> value) override { publish_(key, value); }
  std::optional<std::vector<std::byte>> get(const std::string& key,
                                            std::chrono::steady_clock::time_point deadline) override;

 private:
  const Publish publish_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::vector<std::byte>> values_;
  std::optional<std::string> closed_;
};

}  // namespace tandem::actors
