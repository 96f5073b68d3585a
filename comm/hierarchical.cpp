#include "comm/hierarchical.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "comm/error_text.h"
#include "comm/hierarchical/end.h"
#include "comm/hierarchical/host.h"
#include "comm/in_process.h"

namespace tandem::comm {
namespace {

using Ends = std::vector<std::unique_ptr<Communicator>>;

void check_hosts(const std::vector<std::vector<int>>& hosts, int size) {
  std::vector<int> all;
  for (const std::vector<int>& host : hosts) {
    if (host.empty()) throw std::invalid_argument("a host of a hierarchical group has no ranks");
    if (!std::ranges::is_sorted(host)) {
      throw std::invalid_argument("the ranks of a host must be ascending, not " + ranks_text(host));
    }
    all.insert(all.end(), host.begin(), host.end());
  }
  std::ranges::sort(all);
  bool each_once = all.size() == static_cast<std::size_t>(size);
  for (std::size_t rank = 0; each_once && rank < all.size(); ++rank) each_once = all[rank] == static_cast<int>(rank);
  if (each_once) return;
  throw std::invalid_argument("the hosts of a hierarchical group must have each rank of 0 to " +
                              std::to_string(size - 1) + " once" + (all.empty() ? "" : ", not " + ranks_text(all)));
}

/// The ranks that `ends` belong to, which are those of one host.
std::vector<int> ranks_of(const Ends& ends, const std::vector<std::vector<int>>& hosts) {
  std::vector<int> ranks;
  for (const auto& end : ends) ranks.push_back(end->rank());
  if (std::ranges::find(hosts, ranks) != hosts.end()) return ranks;
  throw std::invalid_argument("no host has just " + ranks_text(ranks) + ", of which there are ends");
}

}  // namespace

Ends make_hierarchical_group(Ends ends, const HierarchicalOptions& options) {
  check_options(options.mean);
  if (ends.empty()) throw std::invalid_argument("a host of a hierarchical group needs an end for each of its ranks");
  check_hosts(options.hosts, ends.front()->size());
  std::vector<int> ranks = ranks_of(ends, options.hosts);
  const InProcessOptions local_options = {.size = static_cast<int>(ends.size()),
                                          .results_kept = options.mean.results_kept,
                                          .deadline = ends.front()->deadline()};
  if (options.hosts.size() == 1) return make_in_process_group(local_options);
  if (std::ranges::all_of(options.hosts, [](const auto& host) { return host.size() == 1; })) {
    ends.front() = with_message_mean(std::move(ends.front()), options.mean);
    return ends;
  }
  const auto host = std::make_shared<hierarchical::Host>(std::move(ranks), options);
  // One sum at a time, and nobody waits there (hierarchical/end.cpp).
  Ends locals(ends.size());
  if (ends.size() > 1) locals = make_in_process_group({.size = local_options.size, .deadline = longest_wait});
  for (std::size_t i = 0; i < ends.size(); ++i) {
    ends[i] = hierarchical::make_end(std::move(ends[i]), std::move(locals[i]), host, options);
  }
  return ends;
}

}  // namespace tandem::comm
