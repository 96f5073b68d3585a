#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

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
  std::string endpoint() const;

  void write(const std::string& bytes) const;
  /// Reads until the other side closes; at most for ten seconds. Returns whether it did.
  bool wait_closed() const;

 private:
  int file_ = -1;
};

/// Stands between nodes and a driver, passes on what they say, and does to their connections what a network does.
class Relay {
 public:
  explicit Relay(const std::string& driver);
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;
  ~Relay();

  std::string endpoint() const { return listener_.endpoint(); }

  /// Ends all connections there are; new ones may be made. With `dead` they are ended as soon as they are made.
  void cut();
  void set_dead(bool dead) { dead_ = dead; }
  /// Passes nothing on, and ends nothing.
  void set_stalled(bool stalled) { stalled_ = stalled; }
  /// Whether these bytes have gone by, in either direction.
  bool saw(const std::string& bytes) const;
  /// How many connections have been made to it.
  int connections() const { return connections_; }

 private:
  struct Link {
    Tcp node, driver;
  };

  void run();
  void accept_link();
  /// Returns whether the link is still up.
  bool pass_on(const Tcp& from, const Tcp& to);

  const std::string driver_;
  Tcp listener_;
  std::vector<Link> links_;
  std::atomic<bool> stop_ = false, cut_ = false, dead_ = false, stalled_ = false;
  std::atomic<int> connections_ = 0;
  mutable std::mutex mutex_;
  std::string seen_;  // under mutex_
  std::thread thread_;
};

}  // namespace tandem::test
