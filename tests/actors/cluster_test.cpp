#include <catch2/catch.hpp>

#include <atomic>
#include <chrono>
#include <future>
#include <list>
#include <thread>

#include "actors/cluster_run.h"
#include "config/job_reader.h"
#include "support/experiments.h"
#include "support/plain_training.h"

// Driver and nodes as in a run over several processes, each with an actor system of its own, in one process.
namespace {

using namespace tandem;
using Catch::Contains;
using config::Correction;
using config::TopologyKind;

constexpr const char* version = "7.1";

actors::DriverPlace driver_place(int nodes) {
  return {.endpoint = "tcp://127.0.0.1:0", .key = {}, .accepted = {}, .version = version, .nodes = nodes};
}

actors::NodePlace node_place(const std::string& driver, const std::string& name) {
  actors::NodePlace place;
  place.driver = driver;
  place.self = comm::control::this_node(version);
  place.self.name = name;
  place.grace = std::chrono::minutes(5);
  return place;
}

actors::ReplicaSource replicas_of(const std::shared_ptr<test::Experiment>& e) {
  return [e](const config::Job& job, int) { return test::make_quadratic_replicas(job, e); };
}

// Nodes that join a driver, each waited for on a thread.
class Nodes {
 public:
  Nodes(const std::string& driver, int count, const std::shared_ptr<test::Experiment>& e) {
    for (int node = 0; node < count; ++node) {
      runs_.emplace_back(node_place(driver, std::string("n").append(std::to_string(node))), replicas_of(e), [] {});
    }
  }
  actors::NodeRun& operator[](int node) { return *std::next(runs_.begin(), node); }
  std::vector<actors::NodeEnd> wait() {
    std::vector<actors::NodeEnd> ends;
    for (actors::NodeRun& run : runs_) ends.push_back(run.wait());
    return ends;
  }

 private:
  std::list<actors::NodeRun> runs_;
};

class NoticeObserver : public test::KeepingObserver {
 public:
  void on_notice(const std::string& text) override {
    notices += text + "\n";
    on_each_notice(text);
  }
  std::function<void(const std::string&)> on_each_notice = [](const std::string&) {};
  std::string notices;
};

struct Ended {
  actors::RunSummary summary;
  std::string error;
  std::vector<actors::NodeEnd> nodes;
  std::string notices;
};

Ended run_on_nodes(const config::Job& job, int count, const std::shared_ptr<test::Experiment>& e) {
  NoticeObserver observer;
  Ended ended;
  actors::ClusterRun run(job, driver_place(count), observer, test::patient());
  Nodes nodes(run.endpoint(), count, e);
  try {
    ended.summary = run.wait();
  } catch (const actors::RunError& error) {
    ended.error = error.what();
    ended.summary = error.summary;
  }
  ended.nodes = nodes.wait();
  ended.notices = observer.notices;
  return ended;
}

}  // namespace

TEST_CASE("a run on nodes equals a plain loop, whatever the topology and however the workers are spread") {
  const auto [topology, width, correction] =
      GENERATE(table<TopologyKind, int, Correction>({{TopologyKind::allreduce, 1, Correction::none},
                                                     {TopologyKind::pipeline, 2, Correction::local},
                                                     {TopologyKind::pipeline, 3, Correction::momentum},
                                                     {TopologyKind::ps_sync, 1, Correction::none}}));
  const auto [workers, nodes] = GENERATE(table<int, int>({{1, 1}, {2, 2}, {4, 2}, {5, 3}}));
  CAPTURE(name(topology), width, workers, nodes);
  constexpr std::int64_t steps = 12;
  config::Job job = test::quadratic_job(workers, steps, width, correction);
  job.topology.kind = topology;
  job.topology.servers = topology == TopologyKind::ps_sync ? 2 : 1;
  const auto e = test::experiment();
  const Ended ended = run_on_nodes(job, nodes, e);
  REQUIRE(ended.error == "");
  CHECK(ended.summary.steps == steps);
  CHECK((ended.summary.bytes_sent > 0) == (nodes > 1));
  const auto expected = test::plain_training(job, e->problem, steps);
  for (int rank = 0; rank < workers; ++rank) test::require_equal(e->last_weights(rank), expected.back());
  for (const actors::NodeEnd& node : ended.nodes) {
    CHECK_FALSE(node.failure);
    CHECK_FALSE(node.stuck);
  }
}

TEST_CASE("spans of all nodes are in the driver's time") {
  const auto before = scheduler::SteadyClock().now();
  const Ended ended = run_on_nodes(test::quadratic_job(3, 20, 2, Correction::local), 3, test::experiment());
  const auto after = scheduler::SteadyClock().now();
  REQUIRE(ended.error == "");
  REQUIRE(ended.summary.tracks.size() == 6);
  for (const scheduler::Track& track : ended.summary.tracks) {
    REQUIRE(!track.spans.empty());
    CHECK(track.spans.front().begin > before - std::chrono::milliseconds(100));
    CHECK(track.spans.back().end < after + std::chrono::milliseconds(100));
  }
}

TEST_CASE("F4: an exception in a worker is the first thing that the driver and every node say") {
  const auto e = test::experiment();
  e->before_gradient = [](int rank, std::int64_t step, std::span<float>) {
    if (rank == 3 && step == 6) throw std::runtime_error("bad shard");
  };
  const Ended ended = run_on_nodes(test::quadratic_job(4, 1000, 2, Correction::local), 4, e);
  CHECK_THAT(test::first_line(ended.error), Contains("worker 3 on node n3") && Contains("at step 6: bad shard"));
  for (const actors::NodeEnd& node : ended.nodes) {
    REQUIRE(node.failure);
    CHECK_THAT(test::first_line(*node.failure), Contains("worker 3 on node n3") && Contains("bad shard"));
    CHECK_FALSE(node.driver_lost);
    CHECK_FALSE(node.stuck);
  }
}

TEST_CASE("F2: a rank on another node with another model is found before step 0, with both ranks and shapes") {
  const auto e = test::experiment();
  e->parameters = [](int rank) { return std::vector<models::Parameter>{{"fc.weight", {rank == 1 ? 11 : 10, 784}}}; };
  std::atomic<bool> computed = false;
  e->before_gradient = [&](auto&&...) { computed = true; };
  const Ended ended = run_on_nodes(test::quadratic_job(2, 10, 2, Correction::local), 2, e);
  CHECK_THAT(test::first_line(ended.error), Contains("fc.weight [10, 784]") && Contains("fc.weight [11, 784]") &&
                                                Contains("rank 0") && Contains("rank 1"));
  CHECK_FALSE(computed);
}

TEST_CASE("a node that leaves ends the run everywhere, and is named with its rank and step") {
  const auto e = test::experiment();
  NoticeObserver observer;
  std::promise<void> begun;
  std::once_flag once;
  e->before_gradient = [&](int rank, std::int64_t step, std::span<float>) {
    if (rank == 1 && step == 10) std::call_once(once, [&] { begun.set_value(); });
  };
  const config::Job job = test::quadratic_job(2, 1'000'000, 2, Correction::local);
  actors::ClusterRun run(job, driver_place(2), observer, test::patient());
  Nodes nodes(run.endpoint(), 2, e);
  begun.get_future().wait();
  nodes[1].leave("somebody else needs this host");
  auto ends = std::async(std::launch::async, [&] { return nodes.wait(); });
  std::string error;
  try {
    run.wait();
  } catch (const actors::RunError& failure) {
    error = failure.what();
  }
  CHECK_THAT(test::first_line(error), Contains("node n1 (") && Contains("somebody else needs this host"));
  const std::vector<actors::NodeEnd> ended = ends.get();
  REQUIRE(ended[0].failure);
  CHECK_THAT(test::first_line(*ended[0].failure), Contains("node n1"));
  REQUIRE(ended[1].failure);
  CHECK(*ended[1].failure == "somebody else needs this host");
}

TEST_CASE("a driver that is gone ends the nodes") {
  const auto e = test::experiment();
  std::promise<void> begun;
  std::once_flag once;
  e->before_gradient = [&](int, std::int64_t step, std::span<float>) {
    if (step == 10) std::call_once(once, [&] { begun.set_value(); });
  };
  NoticeObserver observer;
  std::optional<Nodes> nodes;
  {
    actors::ClusterRun run(test::quadratic_job(2, 1'000'000, 2, Correction::local), driver_place(2), observer,
                           test::patient());
    nodes.emplace(run.endpoint(), 2, e);
    begun.get_future().wait();
  }
  for (const actors::NodeEnd& node : nodes->wait()) {
    REQUIRE(node.failure);
    CHECK_THAT(*node.failure, Contains("the run was given up"));
    CHECK_FALSE(node.stuck);
  }
}

TEST_CASE("a node without driver ends when the time to join is over") {
  actors::NodePlace place = node_place("tcp://127.0.0.1:9", "lonely");
  place.join_limit = std::chrono::milliseconds(300);
  actors::NodeRun node(place, replicas_of(test::experiment()), [] { FAIL("joined nobody"); });
  const actors::NodeEnd end = node.wait();
  REQUIRE(end.failure);
  CHECK(end.driver_lost);
  CHECK_THAT(*end.failure, Contains("127.0.0.1:9"));
}

TEST_CASE("a run whose nodes do not come fails in time, and says how many came") {
  const auto e = test::experiment();
  config::Job job = test::quadratic_job(2, 10, 2, Correction::local);
  job.cluster.join_timeout_seconds = 0.5;
  NoticeObserver observer;
  actors::ClusterRun run(job, driver_place(2), observer, test::patient());
  Nodes nodes(run.endpoint(), 1, e);
  CHECK_THROWS_WITH(run.wait(), Contains("only 1 of 2 nodes joined") || Contains("only 0 of 2 nodes joined"));
  REQUIRE(nodes.wait().front().failure);
}

TEST_CASE("a local node whose process ends before all have joined ends the run at once") {
  const auto e = test::experiment();
  NoticeObserver observer;
  std::promise<void> joined;
  std::once_flag once;
  observer.on_each_notice = [&](const std::string& text) {
    if (text.find("1 of 2 nodes") != std::string::npos) std::call_once(once, [&] { joined.set_value(); });
  };
  actors::ClusterRun run(test::quadratic_job(2, 10, 2, Correction::local), driver_place(2), observer, test::patient());
  Nodes nodes(run.endpoint(), 1, e);
  joined.get_future().wait();
  run.process_ended(comm::control::this_node(version).pid, "it was ended by signal 9");
  CHECK_THROWS_WITH(run.wait(), Contains("node n0 (") && Contains("it was ended by signal 9"));
  REQUIRE(nodes.wait().front().failure);
}

TEST_CASE("a node that comes late is told that the run has all its nodes, and the run goes on") {
  const auto e = test::experiment();
  NoticeObserver observer;
  std::promise<void> begun;
  std::once_flag once;
  std::atomic<bool> go_on = false;
  e->before_gradient = [&](int, std::int64_t step, std::span<float>) {
    if (step != 5) return;
    std::call_once(once, [&] { begun.set_value(); });
    while (!go_on) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  actors::ClusterRun run(test::quadratic_job(1, 10, 1, Correction::none), driver_place(1), observer, test::patient());
  Nodes nodes(run.endpoint(), 1, e);
  begun.get_future().wait();
  actors::NodeRun late(node_place(run.endpoint(), "late"), replicas_of(e), [] {});
  const actors::NodeEnd end = late.wait();
  go_on = true;
  CHECK(run.wait().steps == 10);
  REQUIRE(end.failure);
  CHECK_THAT(*end.failure, Contains("the run has all its nodes"));
  CHECK_THAT(observer.notices, Contains("late"));
}

TEST_CASE("an interrupt while nodes are waited for ends the run in order") {
  NoticeObserver observer;
  actors::ClusterRun run(test::quadratic_job(2, 10, 2, Correction::local), driver_place(2), observer, test::patient());
  run.interrupt();
  const actors::RunSummary summary = run.wait();
  CHECK(summary.interrupted);
  CHECK(summary.steps == 0);
}

TEST_CASE("a name of a node that there is not for the servers is an error that lists those that there are") {
  config::Job job = test::quadratic_job(2, 10, 1, Correction::none);
  job.topology.kind = TopologyKind::ps_sync;
  job.topology.server_node.emplace("big");
  const Ended ended = run_on_nodes(job, 2, test::experiment());
  CHECK_THAT(ended.error, Contains("\"big\"") && Contains("n0") && Contains("n1"));
}

TEST_CASE("a network interface that a node lacks is an error that lists those that it has") {
  config::Job job = test::quadratic_job(2, 10, 1, Correction::none);
  job.cluster.interface.emplace("eth77");
  const Ended ended = run_on_nodes(job, 2, test::experiment());
  CHECK_THAT(ended.error, Contains("eth77") && Contains("lo"));
}

TEST_CASE("a node that others could reach only by its loopback address is an error that says so") {
  const auto e = test::experiment();
  NoticeObserver observer;
  actors::ClusterRun run(test::quadratic_job(2, 10, 1, Correction::none), driver_place(2), observer, test::patient());
  actors::NodePlace elsewhere = node_place(run.endpoint(), "n1");
  elsewhere.self.host = "elsewhere";
  actors::NodeRun first(node_place(run.endpoint(), "n0"), replicas_of(e), [] {});
  actors::NodeRun second(elsewhere, replicas_of(e), [] {});
  CHECK_THROWS_WITH(run.wait(), Contains("loopback address 127.0.0.1") && Contains("cluster.interface"));
  CHECK(first.wait().failure);
  CHECK(second.wait().failure);
}

TEST_CASE("a run that cannot be told of its begin does not begin, and leaves its port") {
  class Refusing : public NoticeObserver {
   public:
    void on_begin() override { throw std::runtime_error("the disk is full"); }
  };
  Refusing observer;
  actors::DriverPlace place = driver_place(1);
  const config::Job job = test::quadratic_job(1, 10, 1, Correction::none);
  {
    NoticeObserver other;
    place.endpoint = actors::ClusterRun(job, place, other).endpoint();
  }
  CHECK_THROWS_WITH(actors::ClusterRun(job, place, observer), "the disk is full");
  CHECK(observer.notices == "");
  NoticeObserver other;
  CHECK_NOTHROW(actors::ClusterRun(job, place, other));
}

TEST_CASE("a job that the nodes cannot fit, or a port in use, is an error before the run begins") {
  class Beginning : public NoticeObserver {
   public:
    void on_begin() override { begun = true; }
    bool begun = false;
  };
  Beginning observer;
  config::Job job = test::quadratic_job(2, 10, 1, Correction::none);
  CHECK_THROWS_AS(actors::ClusterRun(job, driver_place(3), observer), config::JobError);
  job.topology.kind = TopologyKind::ps_sync;
  job.topology.server_node.emplace("big");
  actors::DriverPlace place = driver_place(2);
  place.names = {"n0", "n1"};
  CHECK_THROWS_AS(actors::ClusterRun(job, place, observer), config::JobError);
  NoticeObserver other;
  const actors::ClusterRun listening(test::quadratic_job(2, 10, 1, Correction::none), driver_place(2), other);
  place = driver_place(2);
  place.endpoint = listening.endpoint();
  CHECK_THROWS_WITH(actors::ClusterRun(job, place, observer), Contains(listening.endpoint()));
  CHECK_FALSE(observer.begun);
}

TEST_CASE("two runs at once on one machine do not disturb each other") {
  const config::Job job = test::quadratic_job(2, 30, 2, Correction::local);
  const auto first = test::experiment();
  const auto second = test::experiment();
  auto other = std::async(std::launch::async, [&] { return run_on_nodes(job, 2, first); });
  const Ended ended = run_on_nodes(job, 2, second);
  const Ended other_ended = other.get();
  CHECK(ended.error == "");
  CHECK(other_ended.error == "");
  CHECK(first->last_weights(0) == second->last_weights(0));
}
