#include "actors/nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace tandem::actors {

bool Nodes::join(const NodeJoined& node) {
  if (complete() || placed()) return false;
  nodes_.push_back({node, 0});
  return true;
}

std::string Nodes::count_text() const {
  return fmt::format("{} of {} {}", nodes_.size(), wanted_, wanted_ == 1 ? "node" : "nodes");
}

void Nodes::place(const config::Job& job) {
  std::sort(nodes_.begin(), nodes_.end(), [](const Member& a, const Member& b) {
    return std::tie(a.joined.name, a.joined.host, a.joined.pid) < std::tie(b.joined.name, b.joined.host, b.joined.pid);
  });
  std::vector<std::string> names;
  for (Member& node : nodes_) {
    node.place = static_cast<int>(names.size());
    names.push_back(node.joined.name);
  }
  placement_ = actors::place(job, names);
}

std::vector<std::string> Nodes::shared_names() const {
  std::map<std::string, int> counts;
  for (const Member& node : nodes_) ++counts[node.joined.name];
  std::vector<std::string> names;
  for (const auto& [name, count] : counts) {
    if (count > 1) names.push_back(name);
  }
  return names;
}

std::optional<Nodes::Member> Nodes::leave(const caf::actor& node) {
  const auto found =
      std::find_if(nodes_.begin(), nodes_.end(), [&](const Member& member) { return member.joined.node == node; });
  if (found == nodes_.end()) return std::nullopt;
  Member left = std::move(*found);
  nodes_.erase(found);
  return left;
}

}  // namespace tandem::actors
