#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace tandem::tools {

struct LocalNodesOptions {
  int count = 1;
  /// Of the driver.
  std::string endpoint;
  /// Each node has its share of them, at least one.
  int cores = 1;
};

/// Nodes of a run as child processes of its driver, named local0, local1, ... They run this program, in process groups
/// of their own, so that a terminal's Ctrl-C reaches the driver alone, which ends them. The kernel kills them when the
/// thread that made this ends, so also with this process, however that ends.
class LocalNodes {
 public:
  /// Told on a thread of its own when a node's process has ended, with how, as in "was ended by signal 9".
  using Ended = std::function<void(pid_t process, const std::string& how)>;

  /// Starts them. Throws std::runtime_error if a process cannot be started; then none is left.
  LocalNodes(const LocalNodesOptions& options, Ended ended);
  LocalNodes(const LocalNodes&) = delete;
  LocalNodes& operator=(const LocalNodes&) = delete;
  /// Gives the nodes two seconds to end, and then kills those that have not.
  ~LocalNodes();

  /// What the node with that index is called.
  static std::string name(int index);

 private:
  void start(const LocalNodesOptions& options, int index);
  void watch(pid_t process);
  void end_all();

  const Ended ended_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<pid_t> running_;
  std::vector<std::thread> watchers_;
};

}  // namespace tandem::tools
