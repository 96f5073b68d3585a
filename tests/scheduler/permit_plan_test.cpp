#include "scheduler/permit_plan.h"

#include <catch2/catch.hpp>
#include <random>

namespace {

using namespace tandem::scheduler;
using namespace std::chrono_literals;

PermitPlanOptions options(Step total, Step warmup, int width) {
  PermitPlanOptions result;
  result.total_steps = total;
  result.warmup_steps = warmup;
  result.width = width;
  result.lead = 500ms;
  return result;
}

}  // namespace

TEST_CASE("permits follow each other up to the last step, with the width of each step") {
  const auto seed = GENERATE(take(50, random(0U, 1U << 30)));
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto draw = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  const Step total = draw(1, 300);
  const Step warmup = draw(0, 50);
  const int width = draw(1, 8);
  PermitPlan plan(options(total, warmup, width));
  Step done = 0;
  Step granted = 0;
  bool last = false;
  Time elapsed{};
  while (!last) {
    const std::vector<Permit> permits = plan.extend(done, elapsed);
    for (const Permit& permit : permits) {
      REQUIRE_FALSE(last);
      REQUIRE(permit.until > granted);
      for (Step step = granted; step < permit.until; ++step) REQUIRE(permit.width == (step < warmup ? 1 : width));
      granted = permit.until;
      last = permit.last;
    }
    REQUIRE(granted > done);
    done = std::uniform_int_distribution<Step>(done + 1, granted)(random);
    elapsed += std::chrono::milliseconds(draw(1, 40));
  }
  CHECK(granted == total);
  CHECK(plan.extend(done, elapsed).empty());
}

TEST_CASE("permits reach as far ahead as the lead, by the measured pace") {
  PermitPlan plan(options(1'000'000, 0, 2));
  plan.extend(0, 0ms);
  CHECK(plan.granted_until() == 3);
  plan.extend(1000, 1s);
  CHECK(plan.granted_until() == 1500);
  plan.extend(1000, 10s);
  CHECK(plan.granted_until() == 1500);
}

TEST_CASE("a closed plan ends at what was granted") {
  PermitPlan plan(options(100, 0, 2));
  plan.extend(0, 0ms);
  const Permit permit = plan.close();
  CHECK(permit == Permit{3, 2, true});
  CHECK(plan.extend(3, 1s).empty());
}

TEST_CASE("a plan that is closed before it began grants nothing") {
  PermitPlan plan(options(100, 0, 2));
  CHECK(plan.close() == Permit{0, 2, true});
}

TEST_CASE("the audit finds a worker that is more than its width ahead") {
  PermitPlan plan(options(100, 2, 3));
  plan.extend(10, 10ms);
  CHECK_FALSE(plan.audit(0, 0, 0));
  CHECK_FALSE(plan.audit(0, 1, 1));
  REQUIRE(plan.audit(0, 1, 0));
  CHECK_FALSE(plan.audit(0, 2, 0));
  CHECK_FALSE(plan.audit(0, 3, 1));
  const auto violation = plan.audit(7, 3, 0);
  REQUIRE(violation);
  CHECK_THAT(*violation, Catch::Contains("worker 7") && Catch::Contains("step 3") &&
                             Catch::Contains("4 steps in flight") && Catch::Contains("permitted are 3"));
  CHECK(plan.audit(0, 5, 7));
}

TEST_CASE("the audit finds a step without a permit") {
  PermitPlan plan(options(100, 0, 2));
  plan.extend(0, 0ms);
  REQUIRE(plan.audit(1, 3, 2));
  CHECK_THAT(*plan.audit(1, 3, 2), Catch::Contains("only steps below 3"));
}
