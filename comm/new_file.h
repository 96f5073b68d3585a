#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <span>

namespace tandem::comm {

/// A file that is new, and gone again unless it is kept. Errors are std::system_error, and name the file. Owner only.
class NewFile {
 public:
  /// A file of that name, of which there is none yet.
  static NewFile named(const std::filesystem::path& path, mode_t mode);
  /// A file of mode 0600 whose name begins with `path` and is nobody else's.
  static NewFile unique(const std::filesystem::path& path);
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile();

  const std::filesystem::path& path() const { return path_; }

  /// All of it, and to the disk.
  void write(std::span<const std::byte> bytes);
  void keep() { kept_ = true; }

 private:
  NewFile(std::filesystem::path path, int descriptor);
  [[noreturn]] void fail(const char* what) const;

  const std::filesystem::path path_;
  const int descriptor_;
  bool kept_ = false;
};

}  // namespace tandem::comm
