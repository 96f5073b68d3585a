#include "comm/hierarchical_fixture.h"

#include <utility>

namespace tandem::comm::test {

Group make_hierarchical(Group flat, const HierarchicalOptions& options) {
  for (const std::vector<int>& host : options.hosts) {
    Group ends;
    for (const int rank : host) ends.push_back(std::move(flat[index(rank)]));
    ends = make_hierarchical_group(std::move(ends), options);
    for (std::size_t i = 0; i < host.size(); ++i) flat[index(host[i])] = std::move(ends[i]);
  }
  return flat;
}

}  // namespace tandem::comm::test
