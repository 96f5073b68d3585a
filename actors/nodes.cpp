#include "actors/nodes.h"

#include <fmt/format.h>

#include <algorithm>

namespace tandem::actors {

bool Nodes::join(const NodeJoined& node) {
  if (complete() || placed()) return false;
  nodes_.push_back(node);
  return true;
}

std::string Nodes::count_text() const {
  return fmt::format("{} of {} {}", nodes_.size(), wanted_, wanted_ == 1 ? "node" : "nodes");
}

void Nodes::place(const config::Job& job) {
  std::stable_sort(nodes_.begin(), nodes_.end(),
                   [](const NodeJoined& a, const NodeJoined& b) { return a.name < b.name; });
  std::vector<std::string> names;
  for (const NodeJoined& node : nodes_) names.push_back(node.name);
  placement_ = actors::place(job, names);
}

std::optional<NodeJoined> Nodes::leave(const caf::actor& node) {
  const auto found =
      std::find_if(nodes_.begin(), nodes_.end(), [&](const NodeJoined& joined) { return joined.node == node; });
  if (found == nodes_.end()) return std::nullopt;
  NodeJoined left = std::move(*found);
  nodes_.erase(found);
  return left;
}

}  // namespace tandem::actors
