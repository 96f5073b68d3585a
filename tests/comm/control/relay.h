#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "comm/control/tcp.h"

namespace tandem::test {

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
  /// Ends the connection on which the last of so many more bytes goes by, and does not pass on what comes after it.
  void cut_after(std::size_t bytes);
  /// Whether these bytes have gone by, in either direction.
  bool saw(const std::string& bytes) const;
  /// All that nodes have said, on all their connections.
  std::string said_by_nodes() const;
  /// How many connections have been made to it.
  int connections() const { return connections_; }

 private:
  struct Link {
    Tcp node, driver;
  };

  void run();
  void accept_link();
  /// Returns whether the link is still up.
  bool pass_on(const Tcp& from, const Tcp& to, std::string& seen);

  const std::string driver_;
  Tcp listener_;
  std::vector<Link> links_;
  std::atomic<bool> stop_ = false, cut_ = false, dead_ = false, stalled_ = false;
  std::atomic<int> connections_ = 0;
  mutable std::mutex mutex_;
  // Under mutex_.
  std::string from_nodes_, from_driver_;
  std::optional<std::size_t> until_cut_;

  std::thread thread_;
};

}  // namespace tandem::test
