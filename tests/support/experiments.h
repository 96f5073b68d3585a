#pragma once

#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "support/run_job.h"

// What tests of whole runs of a quadratic have in common.
namespace tandem::test {

inline std::shared_ptr<Experiment> experiment(Quadratic problem = {}) {
  return std::make_shared<Experiment>(std::move(problem));
}

/// After a run of the job, all of whose steps were done.
inline std::shared_ptr<Experiment> trained(const config::Job& job, const Quadratic& problem) {
  auto experiment = std::make_shared<Experiment>(problem);
  REQUIRE(run_quadratic(job, experiment).steps == job.training.steps);
  return experiment;
}

/// Up to rounding in float32, where sums are taken in another order.
inline void require_equal(const std::vector<float>& weights, const std::vector<float>& expected) {
  REQUIRE(weights.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    REQUIRE(weights[i] == Approx(expected[i]).margin(2e-6).epsilon(2e-6));
  }
}

}  // namespace tandem::test
