#include "actors/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "config/value.h"
#include "models/sampler.h"

namespace tandem::actors {
namespace {

int node_of_servers(const std::string& wanted, const std::vector<std::string>& names) {
  const auto found = std::find(names.begin(), names.end(), wanted);
  if (found != names.end()) return static_cast<int>(found - names.begin());
  throw std::runtime_error(fmt::format("topology.server_node is {}, but the nodes are {}", config::in_quotes(wanted),
                                       config::listed(names, "and")));
}

void check_all_busy(const Placement& placement, const std::vector<std::string>& names, int workers) {
  for (std::size_t node = 0; node < names.size(); ++node) {
    if (placement.nodes[node].workers > 0 || !placement.nodes[node].servers.empty()) continue;
    throw std::runtime_error(fmt::format("node {} would have nothing to do: training.workers is {}, for {} nodes",
                                         names[node], workers, names.size()));
  }
}

}  // namespace

std::vector<int> Placement::places() const {
  std::vector<int> places;
  std::size_t servers = 0;
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    places.insert(places.end(), static_cast<std::size_t>(nodes[node].workers), static_cast<int>(node));
    servers += nodes[node].servers.size();
  }
  const std::size_t workers = places.size();
  places.resize(workers + servers);
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    for (const int server : nodes[node].servers) {
      places[workers + static_cast<std::size_t>(server)] = static_cast<int>(node);
    }
  }
  return places;
}

Placement place(const config::Job& job, const std::vector<std::string>& names) {
  const int count = static_cast<int>(names.size());
  Placement placement;
  for (int node = 0; node < count; ++node) {
    const models::Share share = models::even_share(job.training.workers, count, node);
    placement.nodes.push_back({static_cast<int>(share.first), static_cast<int>(share.count), {}});
  }
  if (config::has_parameter_servers(job.topology.kind)) {
    const auto& wanted = job.topology.server_node;
    for (int server = 0; server < job.topology.servers; ++server) {
      const int node = wanted ? node_of_servers(*wanted, names) : server % count;
      placement.nodes[static_cast<std::size_t>(node)].servers.push_back(server);
    }
  }
  check_all_busy(placement, names, job.training.workers);
  return placement;
}

}  // namespace tandem::actors
