#include "scheduler/stability.h"

#include <catch2/catch.hpp>

using namespace tandem;
using config::Correction;
using scheduler::stability_limit;

TEST_CASE("stability limits are those of the characteristic polynomials") {
  CHECK(stability_limit(1, 0, Correction::none) == Approx(2).epsilon(0.005));
  CHECK(stability_limit(2, 0, Correction::none) == Approx(1).epsilon(0.005));
  CHECK(stability_limit(3, 0, Correction::none) == Approx(0.618).epsilon(0.005));
  CHECK(stability_limit(1, 0.9, Correction::none) == Approx(3.8).epsilon(0.005));
  CHECK(stability_limit(2, 0.9, Correction::none) == Approx(0.1).epsilon(0.005));
  CHECK(stability_limit(2, 0.9, Correction::local) == Approx(3.8).epsilon(0.005));
  // z^3 - 1.9 z^2 + (0.9 + 1.9 x) z - 0.9 x has its roots within the unit circle up to here.
  CHECK(stability_limit(2, 0.9, Correction::momentum) == Approx(0.2531).epsilon(0.005));
}

TEST_CASE("N2: uncorrected momentum at width 2 is warned of, and nothing else is") {
  config::Job job;
  job.topology.width = 2;
  job.topology.correction = Correction::none;
  job.optimizer.momentum = 0.9;
  const std::vector<std::string> warnings = scheduler::staleness_warnings(job);
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], Catch::Contains("width 2") && Catch::Contains("momentum 0.9") && Catch::Contains("local"));

  SECTION("a correction") { job.topology.correction = Correction::local; }
  SECTION("width 1") { job.topology.width = 1; }
  SECTION("no momentum") { job.optimizer.momentum = 0; }
  CHECK(scheduler::staleness_warnings(job).empty());
}

TEST_CASE("staleness without a bound is warned of") {
  config::Job job;
  job.topology = {.kind = config::TopologyKind::ps_async, .width = 1, .correction = Correction::none};
  REQUIRE(scheduler::staleness_warnings(job).size() == 1);
  CHECK_THAT(scheduler::staleness_warnings(job)[0], Catch::Contains("topology.staleness is unset"));
  job.topology.staleness = 1000;
  CHECK(scheduler::staleness_warnings(job).empty());
}
