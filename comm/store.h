#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tandem::comm {

/// Where processes that do not know each other yet leave short messages for each other: a map from keys to bytes that
/// all of them see, such as the driver of a job keeps.
///
/// Threads: safe from any thread, of any process. Errors of the way to it are std::runtime_error.
class Store {
 public:
  virtual ~Store() = default;

  /// Each key is set once, by one process.
  virtual void set(const std::string& key, std::span<const std::byte> value) = 0;

  /// May throw AbortedError (comm/communicator.h) once nobody wants what it is for any more. Waits until `key` is set;
  /// nothing if it is not by `deadline`. Asks at least once, even if `deadline` has passed.
  [[nodiscard]] virtual std::optional<std::vector<std::byte>> get(const std::string& key,
                                                                  std::chrono::steady_clock::time_point deadline) = 0;
};

}  // namespace tandem::comm
