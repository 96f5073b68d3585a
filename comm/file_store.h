#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/store.h"

namespace tandem::comm {

/// A Store in a folder that all processes share, also over a network's file system that has hard links: a file a key,
/// which appears complete. Waiting is by asking again, every few milliseconds. A key that is set already, as by a
/// process of an earlier run, is std::runtime_error, and so is a folder that cannot be read or written.
class FileStore : public Store {
 public:
  /// The folder exists.
  explicit FileStore(std::filesystem::path folder);

  void set(const std::string& key, std::span<const std::byte> value) override;
  [[nodiscard]] std::optional<std::vector<std::byte>> get(const std::string& key,
                                                          std::chrono::steady_clock::time_point deadline) override;

 private:
  std::filesystem::path path_of(const std::string& key) const;

  const std::filesystem::path folder_;
};

}  // namespace tandem::comm
