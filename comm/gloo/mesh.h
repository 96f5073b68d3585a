#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/gloo/pair.h"
#include "comm/peer_group/card.h"
#include "comm/store.h"

namespace tandem::comm::gloo_transport {

/// A connection with every other rank. Owner only, but for what Gloo does on its own thread.
class Mesh {
 public:
  /// Listens. `watcher` outlives this. A rank alone has no connections, and needs no address.
  Mesh(const PeerGroupOptions& options, PairWatcher& watcher);
  Mesh(const Mesh&) = delete;
  Mesh& operator=(const Mesh&) = delete;
  /// Ends the connections, also those that are not made yet.
  ~Mesh();

  /// Finds the others by `store` and returns when all connections are made. Throws as make_gloo_communicator() does.
  void connect(Store& store);

  /// For frames. Null for a rank alone.
  const std::shared_ptr<Context>& context() const { return context_; }

  /// "rank 2 (host b)", with the name that it gave itself; "rank 2" where it gave none, or is not known yet.
  std::string text_of(int rank) const;

 private:
  /// This rank's: its name, then for each rank the address at which it listens for that one, where its own is empty.
  peer_group::Card card() const;
  void connect_to(Store& store, int peer, const peer_group::Card& card_of_peer, Clock::time_point begin);

  const PeerGroupOptions options_;
  std::shared_ptr<Context> context_;
  std::vector<std::string> names_;  // by rank
};

}  // namespace tandem::comm::gloo_transport
