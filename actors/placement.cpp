#include "actors/placement.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/job_reader.h"
#include "config/value.h"
#include "models/sampler.h"

namespace tandem::actors {
namespace {

int node_of_servers(const std::string& wanted, const std::vector<std::string>& names) {
  const auto count = std::count(names.begin(), names.end(), wanted);
  if (count == 1) return static_cast<int>(std::find(names.begin(), names.end(), wanted) - names.begin());
  if (count == 0) {
    throw config::JobError(fmt::format("topology.server_node is {}, but the nodes are {}", config::in_quotes(wanted),
                                       config::listed(names, "and")));
  }
  throw config::JobError(fmt::format("topology.server_node is {}, but {} nodes have that name; --name tells them apart",
                                     config::in_quotes(wanted), count));
}

void check_all_busy(const Placement& placement, const std::vector<std::string>& names, int workers) {
  for (std::size_t node = 0; node < names.size(); ++node) {
    if (placement.nodes[node].workers > 0 || !placement.nodes[node].servers.empty()) continue;
    throw config::JobError(fmt::format("node {} would have nothing to do: training.workers is {}, for {} nodes",
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

void check_node_count(const config::Job& job, int nodes) {
  const config::Topology& topology = job.topology;
  std::string servers;
  int most = job.training.workers;
  if (config::has_parameter_servers(topology.kind)) {
    servers = fmt::format(" and topology.servers is {}", topology.servers);
    // All of them are on one node if it is named, which may have no worker.
    most = topology.server_node ? most + 1 : std::max(most, topology.servers);
  }
  if (nodes <= most) return;
  throw config::JobError(fmt::format(
      "{} nodes are too many: training.workers is {}{}, so that at most {} of them would have anything to do", nodes,
      job.training.workers, servers, most));
}

void check_without_nodes(const config::Job& job) {
  if (!job.topology.server_node) return;
  throw config::JobError(
      fmt::format("topology.server_node is {}, but this run has no nodes: all its actors are in one process",
                  config::in_quotes(*job.topology.server_node)));
}

}  // namespace tandem::actors
