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
  /// `wanted` nodes are waited for.
  explicit Nodes(int wanted) : wanted_(wanted) {}

  /// Returns false, and does not take it, if all are there.
  bool join(const NodeJoined& node);
  bool complete() const { return static_cast<int>(nodes_.size()) == wanted_; }
  /// "2 of 4 nodes"
  std::string count_text() const;

  /// Gives each its ranks, in the order of their names, so that these decide and not who came first. Throws as
  /// actors::place().
  void place(const config::Job& job);
  bool placed() const { return placement_.has_value(); }
  const Placement& placement() const { return *placement_; }

  /// In the order of their ranks, once they are placed.
  const std::vector<NodeJoined>& all() const { return nodes_; }

  /// Removes it; unset if it is none of them.
  std::optional<NodeJoined> leave(const caf::actor& node);

 private:
  const int wanted_;
  std::vector<NodeJoined> nodes_;
  std::optional<Placement> placement_;
};

}  // namespace tandem::actors
