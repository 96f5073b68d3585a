#pragma once

#include <caf/all.hpp>

#include <optional>
#include <string>
#include <vector>

#include "actors/messages.h"
#include "actors/placement.h"

namespace tandem::actors {

/// The nodes of a run, as the driver knows them. Owner only.
class Nodes {
 public:
  struct Member {
    NodeJoined joined;
    /// Its index in the placement, which stays the same when others leave; 0 before.
    int place = 0;
  };

  /// `wanted` nodes are waited for.
  explicit Nodes(int wanted) : wanted_(wanted) {}

  /// Returns false, and does not take it, if all are there.
  bool join(const NodeJoined& node);
  bool complete() const { return static_cast<int>(nodes_.size()) == wanted_; }
  /// "2 of 4 nodes"
  std::string count_text() const;

  /// Gives each its ranks, in the order of their names, so that these decide and not who came first; of equal names, in
  /// the order of hosts and then of processes. Throws as actors::place().
  void place(const config::Job& job);
  bool placed() const { return placement_.has_value(); }
  const Placement& placement() const { return *placement_; }

  /// In the order of their ranks, once they are placed.
  const std::vector<Member>& all() const { return nodes_; }
  /// Names that several of them have.
  std::vector<std::string> shared_names() const;

  /// Removes it; unset if it is none of them.
  std::optional<Member> leave(const caf::actor& node);

 private:
  const int wanted_;
  std::vector<Member> nodes_;
  std::optional<Placement> placement_;
};

}  // namespace tandem::actors
