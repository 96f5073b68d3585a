#include "comm/new_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

namespace tandem::comm {

NewFile::NewFile(std::filesystem::path path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {
  if (descriptor_ < 0) fail("cannot be made");
}

NewFile NewFile::named(const std::filesystem::path& path, mode_t mode) {
  return {path, ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)};
}

NewFile NewFile::unique(const std::filesystem::path& path) {
  std::string name = path.string() + ".XXXXXX";
  const int descriptor = ::mkostemp(name.data(), O_CLOEXEC);
  return {name, descriptor};
}

NewFile::~NewFile() {
  ::close(descriptor_);
  if (!kept_) ::unlink(path_.c_str());
}

void NewFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) fail("cannot be written");
    if (written > 0) bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  if (::fsync(descriptor_) != 0) fail("cannot be written");
}

void NewFile::fail(const char* what) const {
  throw std::system_error(errno, std::generic_category(), path_.string() + ": " + what);
}

}  // namespace tandem::comm
