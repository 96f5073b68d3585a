#include "scheduler/duration_histogram.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

using tandem::scheduler::DurationHistogram;
using tandem::scheduler::Time;

TEST_CASE("quantiles are within 0.8 % of the exact ones") {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> draw(12, 3);
  DurationHistogram histogram;
  std::vector<std::int64_t> exact;
  for (int i = 0; i < 20001; ++i) {
    exact.push_back(static_cast<std::int64_t>(draw(random)));
    histogram.add(Time(exact.back()));
  }
  std::sort(exact.begin(), exact.end());
  for (const double q : {0.001, 0.25, 0.5, 0.9, 0.95, 0.999, 1.0}) {
    const auto index = static_cast<std::size_t>(std::ceil(q * 20001)) - 1;
    CHECK(static_cast<double>(histogram.quantile(q).count()) ==
          Approx(static_cast<double>(exact[index])).epsilon(0.008));
  }
}

TEST_CASE("small durations are exact, and none are lost") {
  DurationHistogram histogram;
  for (const int ns : {0, 1, 2, 127, 5}) histogram.add(Time(ns));
  CHECK(histogram.count() == 5);
  CHECK(histogram.total() == Time(135));
  CHECK(histogram.median() == Time(2));
  CHECK(histogram.quantile(0) == Time(0));
  CHECK(histogram.quantile(1) == Time(127));
}

TEST_CASE("extreme durations are counted") {
  DurationHistogram histogram;
  histogram.add(Time::max());
  histogram.add(Time(-5));
  CHECK(histogram.quantile(0.5) == Time(0));
  CHECK(static_cast<double>(histogram.quantile(1).count()) == Approx(9.22e18).epsilon(0.01));
}

TEST_CASE("a histogram without durations has median 0") { CHECK(DurationHistogram().median() == Time(0)); }
