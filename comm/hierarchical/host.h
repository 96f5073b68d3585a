#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "comm/hierarchical.h"
#include "comm/message_mean/exchange.h"

namespace tandem::comm::hierarchical {

/// What the ends of one host share; it lives as long as any of them. Safe from any thread, but for what it says.
class Host {
 public:
  Host(std::vector<int> ranks, const HierarchicalOptions& options);

  /// In the whole group; the first leads.
  const std::vector<int>& ranks() const { return ranks_; }
  int leader() const { return ranks_.front(); }

  /// Leader only.
  message_mean::Exchange& exchange() { return exchange_; }

  /// From the leader to the others: what came of a call. All of them take it before any enters the next call.
  void set_result(const Mean& mean);
  Mean result() const;

  /// Why the host's ranks were aborted, if they were; the first reason stays.
  void set_cause(const std::string& cause) noexcept;
  std::optional<std::string> cause() const;

 private:
  const std::vector<int> ranks_;
  message_mean::Exchange exchange_;

  mutable std::mutex mutex_;
  Mean result_;
  std::optional<std::string> cause_;
};

}  // namespace tandem::comm::hierarchical
