#pragma once

#include <optional>
#include <string>

namespace tandem::test {

/// A TCP socket that is closed in the end.
class Tcp {
 public:
  Tcp() = default;
  explicit Tcp(int file) : file_(file) {}
  Tcp(Tcp&& other) noexcept : file_(other.file_) { other.file_ = -1; }
  Tcp& operator=(Tcp&& other) noexcept;
  ~Tcp();

  int file() const { return file_; }

  /// To "tcp://127.0.0.1:PORT".
  static Tcp connected(const std::string& endpoint);
  /// To a port that is free.
  static Tcp listening();
  /// Keeps a port that is free from others, but for a listener that reuses addresses, as ZeroMQ does. Nobody listens.
  static Tcp reserved();
  std::string endpoint() const;

  void write(const std::string& bytes) const;
  /// Reads until this has come; at most for ten seconds at a time. Returns whether it has.
  bool read_until(const std::string& bytes) const;
  /// Reads until the other side closes; at most for ten seconds at a time. Returns whether it did.
  bool wait_closed() const;

 private:
  /// What comes next; empty at the end, nothing if nothing comes.
  std::optional<std::string> read() const;

  int file_ = -1;
};

/// Whether a socket can be bound to ::1.
bool has_ipv6_loopback();

/// How many descriptors this process has open.
int open_files();

/// Lets this process open up to `count` descriptors, or as many as it may. Returns how many that are.
int allow_files(int count);

}  // namespace tandem::test
