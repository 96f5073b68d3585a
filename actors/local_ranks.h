#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "actors/published_store.h"
#include "comm/communicator.h"
#include "config/job.h"

namespace tandem::actors {

struct LocalRanksOptions {
  config::Job job;
  /// The node of each rank: of the workers in rank order, and then of the parameter servers.
  std::vector<int> places;
  /// This node.
  int node = 0;
  /// Of this node, for errors on all nodes; empty where there is one node.
  std::string name = {};
  /// This host's address that other nodes connect to; unused where there is one node.
  std::string address = {};
  /// Names the group; no two runs have the same.
  std::string group = {};
};

/// The ends of one node's ranks in the run's group. Where there is one node, they share memory. Else each is connected
/// with all others over the network, and where workers reduce, those of one node first reduce in shared memory.
class LocalRanks {
 public:
  LocalRanks(LocalRanksOptions options, std::shared_ptr<PublishedStore> store);
  LocalRanks(const LocalRanks&) = delete;
  LocalRanks& operator=(const LocalRanks&) = delete;
  ~LocalRanks();

  /// A local rank's end, which lives as long as this. To be called once by each local rank, on a thread of its own:
  /// waits until the group is connected. Throws as communicator.h says.
  comm::Communicator& end(int rank);

  /// Ends the group, also while it is being connected. Safe from any thread; does not wait.
  void abort(const std::string& reason) noexcept;

 private:
  using Ends = std::vector<std::unique_ptr<comm::Communicator>>;

  bool alone() const { return local_.size() == options_.places.size(); }
  std::size_t index_of(int rank) const;
  Ends share_memory() const;
  std::unique_ptr<comm::Communicator> connect(int rank);
  void add(std::size_t index, std::unique_ptr<comm::Communicator> end);
  Ends assemble(Ends flat) const;
  void abort_now(const std::string& reason);

  const LocalRanksOptions options_;
  const std::vector<int> local_;  // the ranks of this node, ascending
  const std::shared_ptr<PublishedStore> store_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t connected_ = 0;
  Ends flat_;  // while the group is being connected
  Ends ends_;  // then; by index_of()
  std::optional<std::string> aborted_;
  std::thread aborting_;
};

}  // namespace tandem::actors
