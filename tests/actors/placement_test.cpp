#include <catch2/catch.hpp>

#include "actors/placement.h"

namespace {

using namespace tandem;
using actors::place;
using Catch::Contains;
using config::TopologyKind;

config::Job job_of(int workers, TopologyKind topology = TopologyKind::allreduce, int servers = 1) {
  config::Job job;
  job.training.workers = workers;
  job.topology.kind = topology;
  job.topology.servers = servers;
  return job;
}

}  // namespace

TEST_CASE("workers are spread over the nodes evenly, in rank order") {
  CHECK(place(job_of(5), {"a", "b", "c"}).places() == std::vector<int>{0, 0, 1, 1, 2});
  CHECK(place(job_of(4), {"a"}).places() == std::vector<int>{0, 0, 0, 0});
}

TEST_CASE("servers are spread over the nodes, after the workers in the order of ranks") {
  const auto placement = place(job_of(2, TopologyKind::ps_sync, 3), {"a", "b"});
  CHECK(placement.places() == std::vector<int>{0, 1, 0, 1, 0});
  CHECK(placement.nodes[0].servers == std::vector<int>{0, 2});
}

TEST_CASE("all servers are on the node that is named") {
  config::Job job = job_of(2, TopologyKind::ps_async, 2);
  job.topology.server_node.emplace("second");
  CHECK(place(job, {"first", "second"}).places() == std::vector<int>{0, 1, 1, 1});
  job.topology.server_node.emplace("third");
  CHECK_THROWS_WITH(place(job, {"first", "second"}), Contains("\"third\"") && Contains("first and second"));
}

TEST_CASE("a name for the servers that several nodes have is an error") {
  config::Job job = job_of(2, TopologyKind::ps_sync);
  job.topology.server_node.emplace("big");
  CHECK_THROWS_WITH(place(job, {"big", "big"}), Contains("\"big\"") && Contains("2 nodes have that name"));
}

TEST_CASE("more nodes than there is work for are an error before any has joined") {
  using actors::check_node_count;
  CHECK_NOTHROW(check_node_count(job_of(2), 2));
  CHECK_THROWS_WITH(check_node_count(job_of(2), 3), Contains("training.workers is 2") && Contains("at most 2"));
  config::Job job = job_of(2, TopologyKind::ps_sync, 4);
  CHECK_NOTHROW(check_node_count(job, 4));
  CHECK_THROWS_WITH(check_node_count(job, 5), Contains("topology.servers is 4") && Contains("at most 4"));
  job.topology.server_node.emplace("big");
  CHECK_NOTHROW(check_node_count(job, 3));
  CHECK_THROWS_WITH(check_node_count(job, 4), Contains("at most 3"));
}

TEST_CASE("a node for the servers is an error in a run without nodes") {
  config::Job job = job_of(2, TopologyKind::ps_sync);
  CHECK_NOTHROW(actors::check_without_nodes(job));
  job.topology.server_node.emplace("big");
  CHECK_THROWS_WITH(actors::check_without_nodes(job), Contains("\"big\"") && Contains("no nodes"));
}

TEST_CASE("a node that would have nothing to do is an error") {
  CHECK_THROWS_WITH(place(job_of(1), {"a", "b"}), Contains("node b") && Contains("training.workers is 1"));
  CHECK(place(job_of(1, TopologyKind::ps_sync, 2), {"a", "b"}).places() == std::vector<int>{0, 0, 1});
}
