#include "scheduler/run_permits.h"

#include <catch2/catch.hpp>
#include <numeric>
#include <random>

namespace {

using namespace tandem::scheduler;

// Workers that compute what they are granted, a random part of it at a time, until each has had its last permit.
struct Workers {
  explicit Workers(int count) : granted(static_cast<std::size_t>(count)), done(granted.size()), ended(granted.size()) {}

  void take(const std::vector<WorkerPermit>& permits) {
    for (const auto& [rank, permit] : permits) {
      const auto r = static_cast<std::size_t>(rank);
      REQUIRE_FALSE(ended[r]);
      REQUIRE(permit.until >= granted[r]);
      granted[r] = permit.until;
      ended[r] = permit.last;
    }
  }
  bool over() const { return std::find(ended.begin(), ended.end(), false) == ended.end(); }

  std::vector<Step> granted;
  std::vector<Step> done;
  std::vector<bool> ended;
};

PermitPlanOptions plan_of(Step total, int width) {
  PermitPlanOptions plan;
  plan.total_steps = total;
  plan.width = width;
  return plan;
}

}  // namespace

TEST_CASE("every pace grants all steps of a run, whatever the speed of the workers") {
  const auto seed = GENERATE(take(100, random(0U, 1U << 30)));
  const auto pace = GENERATE(Pace::together, Pace::own, Pace::shared);
  CAPTURE(seed, static_cast<int>(pace));
  std::mt19937 random(seed);
  const auto draw = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  const int count = draw(1, 6);
  const Step total = draw(1, 200);
  RunPermits permits(count, pace, plan_of(total, draw(1, 4)));
  Workers workers(count);
  Time elapsed{};
  while (!workers.over()) {
    workers.take(permits.extend(workers.done, elapsed));
    if (pace == Pace::together) {
      for (const Step until : workers.granted) CHECK(until == workers.granted.front());
    }
    for (std::size_t r = 0; r < workers.done.size(); ++r) {
      if (draw(0, 2) == 0) continue;
      workers.done[r] = std::uniform_int_distribution<Step>(workers.done[r], workers.granted[r])(random);
    }
    elapsed += std::chrono::milliseconds(draw(1, 40));
  }
  CHECK(std::accumulate(workers.granted.begin(), workers.granted.end(), Step{0}) == count * total);
  if (pace != Pace::shared) {
    for (const Step until : workers.granted) CHECK(until == total);
  }
}

TEST_CASE("of a shared pool a faster worker takes more, and all end at about the same time") {
  RunPermits permits(2, Pace::shared, plan_of(1000, 1));
  Workers workers(2);
  // Worker 0 takes a step every millisecond, worker 1 every 4.
  for (Step now = 0; !workers.over(); ++now) {
    workers.take(permits.extend(workers.done, std::chrono::milliseconds(now)));
    workers.done[0] = std::min(workers.done[0] + 1, workers.granted[0]);
    if (now % 4 == 3) workers.done[1] = std::min(workers.done[1] + 1, workers.granted[1]);
  }
  CHECK(workers.granted[0] > 3 * workers.granted[1]);
  // What is left takes at most as long as permits reach ahead.
  const auto lead = plan_of(1000, 1).lead;
  CHECK(std::chrono::milliseconds(workers.granted[0] - workers.done[0]) <= lead);
  CHECK(std::chrono::milliseconds(4 * (workers.granted[1] - workers.done[1])) <= lead + std::chrono::milliseconds(4));
}

TEST_CASE("closing ends every worker at what it was granted") {
  RunPermits permits(2, Pace::own, plan_of(1000, 1));
  Workers workers(2);
  workers.take(permits.extend(workers.done, Time{}));
  const std::vector<Step> granted = workers.granted;
  workers.take(permits.close());
  CHECK(workers.over());
  CHECK(workers.granted == granted);
  CHECK(permits.close().empty());
  CHECK(permits.extend(workers.done, Time{}).empty());
}
