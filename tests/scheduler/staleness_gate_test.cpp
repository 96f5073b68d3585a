#include "scheduler/staleness_gate.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <stdexcept>

namespace {

using namespace tandem::scheduler;
using Answer = StalenessGate::Answer;

// One worker as it sees itself: it computes whenever the rules let it.
struct NaiveWorker {
  Step pushed = 0;
  Step answered = 0;
  bool ended = false;
};

}  // namespace

TEST_CASE("no worker is ever further ahead than the bound, every answer comes once, and nobody is stuck") {
  const auto seed = GENERATE(take(200, random(0U, 1U << 30)));
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto draw = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  const int count = draw(1, 6);
  const int width = draw(1, 3);
  const Step bound = draw(width - 1, width + 3);
  const Step steps = 40;
  CAPTURE(count, width, bound);
  StalenessGate gate({.workers = count, .width = width, .bound = bound});
  std::vector<NaiveWorker> workers(static_cast<std::size_t>(count));
  const auto goes_on = [&](const NaiveWorker& worker) { return !worker.ended; };
  const auto slowest = [&] {
    Step least = steps;
    for (const NaiveWorker& worker : workers) {
      if (goes_on(worker)) least = std::min(least, worker.pushed);
    }
    return least;
  };
  // As in a reducer, a gradient is pushed once the one before is answered; and a step begins with the answer to the
  // step `width` before it.
  const auto may_push = [&](const NaiveWorker& worker) {
    return goes_on(worker) && worker.answered == worker.pushed && worker.pushed < steps;
  };
  while (std::any_of(workers.begin(), workers.end(), goes_on)) {
    std::vector<int> ready;
    for (int w = 0; w < count; ++w) {
      const NaiveWorker& worker = workers[static_cast<std::size_t>(w)];
      if (may_push(worker) || (goes_on(worker) && worker.answered == steps)) ready.push_back(w);
    }
    REQUIRE(!ready.empty());
    const int chosen = ready[static_cast<std::size_t>(draw(0, static_cast<int>(ready.size()) - 1))];
    NaiveWorker& worker = workers[static_cast<std::size_t>(chosen)];
    if (worker.pushed == steps || draw(0, 99) == 0) {
      worker.ended = true;
      gate.ended(chosen);
    } else {
      ++worker.pushed;
      gate.pushed(chosen);
    }
    for (const Answer& answer : gate.due()) {
      NaiveWorker& answered = workers[static_cast<std::size_t>(answer.worker)];
      REQUIRE(answer.step == answered.answered);
      ++answered.answered;
      const Step next = answer.step + width;
      CHECK(answer.ahead == next - std::min(slowest(), answered.pushed));
      CHECK(answer.ahead <= bound);
    }
    for (const NaiveWorker& waiting : workers) {
      if (goes_on(waiting) && waiting.answered < waiting.pushed) CHECK(waiting.answered + width - slowest() > bound);
    }
  }
}

TEST_CASE("a bound of 0 keeps workers in step") {
  StalenessGate gate({.workers = 3, .width = 1, .bound = 0});
  gate.pushed(0);
  gate.pushed(2);
  CHECK(gate.due().empty());
  CHECK(gate.holds_any());
  CHECK(gate.slowest() == std::vector{1});
  gate.pushed(1);
  CHECK(gate.due() == std::vector<Answer>{{0, 0, 0}, {1, 0, 0}, {2, 0, 0}});
  CHECK_FALSE(gate.holds_any());
}

TEST_CASE("without a bound every gradient is answered at once") {
  StalenessGate gate({.workers = 2, .width = 1, .bound = std::nullopt});
  for (Step step = 0; step < 100; ++step) {
    gate.pushed(1);
    CHECK(gate.due() == std::vector<Answer>{{1, step, step + 1}});
  }
}

TEST_CASE("a worker that has ended holds nobody up") {
  StalenessGate gate({.workers = 2, .width = 1, .bound = 0});
  gate.pushed(0);
  CHECK(gate.due().empty());
  gate.ended(1);
  CHECK(gate.due() == std::vector<Answer>{{0, 0, 0}});
  CHECK(gate.slowest() == std::vector{0});
}

TEST_CASE("misuse of the gate is told") {
  CHECK_THROWS_AS(StalenessGate({.workers = 2, .width = 3, .bound = 1}), std::logic_error);
  StalenessGate gate({.workers = 2, .width = 1, .bound = 0});
  gate.pushed(0);
  CHECK_THROWS_AS(gate.pushed(0), std::logic_error);
  gate.ended(1);
  CHECK_THROWS_AS(gate.pushed(1), std::logic_error);
}
