#include "scheduler/pipeline_window.h"

#include <catch2/catch.hpp>
#include <random>
#include <stdexcept>
#include <vector>

namespace {

using namespace tandem::scheduler;
using Next = PipelineWindow::Next;

// The rules, said as plainly as possible: for every step of a whole run its width, looked up in a list.
class NaiveModel {
 public:
  void grant(const Permit& permit) {
    while (static_cast<Step>(width_of_step_.size()) < permit.until) width_of_step_.push_back(permit.width);
    last_ = permit.last;
  }
  void arrive() { ++arrived_; }

  Next next() const {
    const auto permitted = static_cast<Step>(width_of_step_.size());
    if (computed_ == permitted) {
      if (!last_) return Next::await_permit;
      if (applied_ == computed_) return Next::done;
      return arrived_ < computed_ ? Next::await_update : Next::apply_rest;
    }
    return arrived_ < wanted() ? Next::await_update : Next::compute;
  }
  // How many updates are applied when the next step is computed.
  Step wanted() const {
    Step wanted = 0;
    for (Step step = 0; step <= computed_; ++step) {
      wanted = std::max(wanted, step - width_of_step_[static_cast<std::size_t>(step)] + 1);
    }
    return wanted;
  }
  void compute() {
    applied_ = wanted();
    ++computed_;
  }
  void apply_rest() { applied_ = computed_; }

  Step computed_ = 0;
  Step applied_ = 0;
  Step arrived_ = 0;

 private:
  std::vector<int> width_of_step_;
  bool last_ = false;
};

}  // namespace

TEST_CASE("the window does what a naive model does, whatever the order of events") {
  const auto seed = GENERATE(take(200, random(0U, 1U << 30)));
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto draw = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  const int max_width = draw(1, 8);
  PipelineWindow window(max_width);
  NaiveModel model;
  Step granted = 0;
  bool last = false;
  for (int event = 0; event < 400; ++event) {
    REQUIRE(window.next() == model.next());
    REQUIRE(window.step() == model.computed_);
    const int choice = draw(0, 3);
    if (choice == 0 && !last) {
      granted += draw(0, 5);
      last = draw(0, 60) == 0;
      const Permit permit{granted, draw(1, max_width), last};
      window.grant(permit);
      model.grant(permit);
    } else if (choice == 1 && model.arrived_ < model.computed_) {
      window.update_arrived(model.arrived_);
      model.arrive();
    } else if (window.next() == Next::compute) {
      REQUIRE(window.due() == StepRange{model.applied_, model.wanted()});
      REQUIRE(window.in_flight() == StepRange{model.wanted(), model.computed_});
      REQUIRE(window.in_flight().count() < max_width);
      window.step_computed();
      model.compute();
    } else if (window.next() == Next::apply_rest) {
      REQUIRE(window.due() == StepRange{model.applied_, model.computed_});
      window.rest_applied();
      model.apply_rest();
    }
    REQUIRE(window.applied() == model.applied_);
  }
}

TEST_CASE("at width 1 each update is applied before the next step") {
  PipelineWindow window(1);
  window.grant({3, 1, true});
  for (Step step = 0; step < 3; ++step) {
    REQUIRE(window.next() == Next::compute);
    CHECK(window.applied() == std::max<Step>(0, step - 1));
    CHECK(window.due().end == step);
    window.step_computed();
    CHECK(window.next() == Next::await_update);
    window.update_arrived(step);
  }
  CHECK(window.next() == Next::apply_rest);
  window.rest_applied();
  CHECK(window.next() == Next::done);
}

TEST_CASE("an update that has arrived early is not applied early") {
  PipelineWindow window(3);
  window.grant({4, 3, false});
  window.step_computed();
  window.update_arrived(0);
  CHECK(window.due().count() == 0);
  window.step_computed();
  CHECK(window.due().count() == 0);
  window.step_computed();
  CHECK(window.due() == StepRange{0, 1});
}

TEST_CASE("narrowing the window applies several updates before the next step") {
  PipelineWindow window(4);
  window.grant({4, 4, false});
  for (Step step = 0; step < 4; ++step) {
    if (step > 0) window.update_arrived(step - 1);
    REQUIRE(window.next() == Next::compute);
    window.step_computed();
  }
  window.grant({5, 1, true});
  CHECK(window.next() == Next::await_update);
  window.update_arrived(3);
  CHECK(window.next() == Next::compute);
  CHECK(window.due() == StepRange{0, 4});
}

TEST_CASE("a run of no steps is done at once") {
  PipelineWindow window(2);
  window.grant({0, 2, true});
  CHECK(window.next() == Next::done);
}

TEST_CASE("misuse of the window is an error") {
  PipelineWindow window(2);
  CHECK_THROWS_AS(PipelineWindow(0), std::logic_error);
  CHECK_THROWS_AS(window.grant({1, 3, false}), std::logic_error);
  CHECK_THROWS_AS(window.step_computed(), std::logic_error);
  CHECK_THROWS_AS(window.update_arrived(0), std::logic_error);
  CHECK_THROWS_AS(window.rest_applied(), std::logic_error);
  window.grant({2, 1, false});
  CHECK_THROWS_AS(window.grant({1, 1, false}), std::logic_error);
  window.grant({2, 1, true});
  CHECK_THROWS_AS(window.grant({3, 1, true}), std::logic_error);
}

TEST_CASE("an end takes back what was permitted, and leaves what is in flight to be applied") {
  PipelineWindow window(2);
  window.grant({10, 2, false});
  window.step_computed();
  window.step_computed();
  window.end();
  CHECK(window.next() == Next::await_update);
  window.update_arrived(0);
  window.update_arrived(1);
  CHECK(window.next() == Next::apply_rest);
  CHECK(window.due() == StepRange{0, 2});
  window.rest_applied();
  CHECK(window.next() == Next::done);
}
