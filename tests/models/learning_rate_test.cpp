#include "models/learning_rate.h"

#include <catch2/catch.hpp>
#include <cmath>

namespace tandem::models {
namespace {

LearningRate make_rate(const config::Schedule& schedule, std::int64_t total_steps) {
  config::Optimizer optimizer;
  optimizer.lr = 0.8;
  return LearningRate(optimizer, schedule, total_steps);
}

TEST_CASE("A constant rate is the optimizer's at every step") {
  const LearningRate rate = make_rate({}, 10);
  for (const std::int64_t step : {0, 1, 9, 1000}) CHECK(rate.at(step) == 0.8);
}

TEST_CASE("Warm-up rises linearly and reaches the rate with the first step after it") {
  config::Schedule schedule;
  schedule.warmup_steps = 3;
  const LearningRate rate = make_rate(schedule, 10);
  CHECK(rate.at(0) == Approx(0.2));
  CHECK(rate.at(1) == Approx(0.4));
  CHECK(rate.at(2) == Approx(0.6));
  CHECK(rate.at(3) == 0.8);
  CHECK(rate.at(4) == 0.8);
}

TEST_CASE("A step schedule multiplies the rate after every interval, counted from the end of warm-up") {
  config::Schedule schedule;
  schedule.kind = config::ScheduleKind::step;
  schedule.warmup_steps = GENERATE(0, 5);
  schedule.interval = 4;
  schedule.factor = 0.5;
  const LearningRate rate = make_rate(schedule, 100);
  const auto after_warmup = [&](std::int64_t step) { return rate.at(schedule.warmup_steps + step); };
  CHECK(after_warmup(0) == 0.8);
  CHECK(after_warmup(3) == 0.8);
  CHECK(after_warmup(4) == Approx(0.4));
  CHECK(after_warmup(7) == Approx(0.4));
  CHECK(after_warmup(8) == Approx(0.2));
}

TEST_CASE("A cosine falls from the whole rate after warm-up to the final share at the last step") {
  config::Schedule schedule;
  schedule.kind = config::ScheduleKind::cosine;
  schedule.warmup_steps = GENERATE(0, 6);
  schedule.final_share = GENERATE(0.0, 0.25);
  const LearningRate rate = make_rate(schedule, schedule.warmup_steps + 9);
  const auto after_warmup = [&](std::int64_t step) { return rate.at(schedule.warmup_steps + step); };
  const double last = 0.8 * schedule.final_share;
  CHECK(after_warmup(0) == 0.8);
  CHECK(after_warmup(2) == Approx(last + (0.8 - last) * (1 + std::sqrt(0.5)) / 2));
  CHECK(after_warmup(4) == Approx((0.8 + last) / 2));
  CHECK(after_warmup(8) == Approx(last).margin(1e-12));
  CHECK(after_warmup(9) == Approx(last).margin(1e-12));
}

TEST_CASE("A cosine over a single step after warm-up has the whole rate there") {
  config::Schedule schedule;
  schedule.kind = config::ScheduleKind::cosine;
  CHECK(make_rate(schedule, 1).at(0) == 0.8);
  schedule.warmup_steps = 3;
  CHECK(make_rate(schedule, 4).at(3) == 0.8);
}

TEST_CASE("A run that ends within its warm-up only warms up") {
  config::Schedule schedule;
  schedule.kind = config::ScheduleKind::cosine;
  schedule.warmup_steps = 7;
  CHECK(make_rate(schedule, 2).at(1) == Approx(0.2));
}

}  // namespace
}  // namespace tandem::models
