#pragma once

#include <numeric>
#include <span>
#include <vector>

#include "comm/communicator.h"
#include "comm/tags.h"
#include "comm/wire.h"

namespace tandem::comm::message_mean {

/// The ranks of a group by the host that they are on, each list ascending. The first rank of a host leads it.
using Hosts = std::vector<std::vector<int>>;

/// How the ranks of a group find out, by messages, whether all came to the same collective. A rank tells those of its
/// own host, and the leaders of the others: so a leader hears of every rank itself, which names those that are late,
/// and who does not lead hears of those beside it. Owner only.
class RollCall {
 public:
  /// The messages have `tag`. `ranks` outlives this.
  RollCall(Communicator& ranks, const Hosts& hosts, Tag tag);

  /// This rank comes to `call`. Another is told with the first message that send() sends it, and at the latest when
  /// this rank waits.
  void enter(const CallHeader& call);

  /// Sends a message of the call to that rank.
  void send(int to, const Message& message);

  /// Waits until those of this rank's own host have announced theirs. Where one differs from this rank's, aborts the
  /// group with what differs, naming both ranks and both values, and throws it as CommError.
  void await_host();

  /// The same for all that this rank hears of; so no leader returns before all ranks have come.
  void await();

  /// On a leader, after await(): the sum of weights of each host, in their order, and of all.
  std::span<const double> weights() const { return host_weights_; }
  double total_weight() const { return std::accumulate(host_weights_.begin(), host_weights_.end(), 0.0); }

 private:
  void tell_all();
  void await(std::vector<int>& missing);

  Communicator& ranks_;
  const Hosts hosts_;
  const Tag tag_;
  std::vector<int> others_here_;
  std::vector<int> others_elsewhere_;  // of which this rank hears
  std::vector<int> others_told_;
  CallHeader own_;
  std::vector<double> weights_;       // by rank
  std::vector<double> host_weights_;  // by host
  std::vector<int> untold_;           // of others_told_, those that do not know own_ yet
  // Of the others those that have not announced theirs.
  std::vector<int> missing_here_;
  std::vector<int> missing_elsewhere_;
};

/// Every rank on a host of its own.
Hosts one_a_host(int ranks);

}  // namespace tandem::comm::message_mean
