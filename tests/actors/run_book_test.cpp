#include <catch2/catch.hpp>

#include "actors/run_book.h"
#include "actors/skip_watch.h"
#include "support/run_job.h"

namespace {

using namespace tandem;
using namespace tandem::actors;
using Catch::Contains;

class ManualClock final : public scheduler::Clock {
 public:
  scheduler::Time now() const override { return time; }
  scheduler::Time time{};
};

// What a node is called.
using NodeText = std::function<std::string(int node)>;

std::string here(int) { return ""; }
std::string on_node(int node) { return "node h" + std::to_string(node) + " (pid 7" + std::to_string(node) + ")"; }

// Of a run with a rank a node.
struct Book {
  explicit Book(int workers, const NodeText& node_text = here)
      : job(test::quadratic_job(workers, 100, 2, config::Correction::none)), book(job, observer, clock) {
    for (int rank = 0; rank < workers; ++rank) {
      book.expect(ActorKind::worker, rank, rank, node_text(rank));
      book.expect(ActorKind::reducer, rank, rank, node_text(rank));
      book.ready({rank, 5, 5, 10, {"w [5]"}});
    }
    book.start();
    book.permits();
  }
  static Iteration computed(std::int64_t step, std::int64_t applied) {
    Iteration iteration;
    iteration.step = step;
    iteration.applied = applied;
    iteration.computed = true;
    iteration.samples = 4;
    iteration.loss_sum = 8;
    return iteration;
  }

  config::Job job;
  test::KeepingObserver observer;
  std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>();
  RunBook book;
};

}  // namespace

TEST_CASE("a report that breaks the width is an error that names the worker") {
  Book b(2);
  b.book.iterations({0, {Book::computed(0, 0), Book::computed(1, 0)}});
  CHECK_THROWS_WITH(b.book.iterations({1, {Book::computed(2, 0)}}),
                    Contains("worker 1") && Contains("3 steps in flight"));
}

TEST_CASE("progress counts the steps that every worker has done, and means over samples") {
  Book b(2);
  b.clock->time = std::chrono::seconds(2);
  b.book.iterations({0, {Book::computed(0, 0), Book::computed(1, 0)}});
  b.clock->time = std::chrono::seconds(4);
  b.book.iterations({1, {Book::computed(0, 0)}});
  REQUIRE(b.observer.progress.size() == 2);
  CHECK(b.observer.progress[0].steps_done == 0);
  CHECK(b.observer.progress[1].steps_done == 1);
  CHECK(b.observer.progress[1].loss == 2);
  CHECK(b.observer.progress[1].samples_per_second == 2);
}

TEST_CASE("an evaluation is told once all workers' shares are there") {
  Book b(2);
  b.book.evaluation({0, false, 10, 100, 50.0, 90, 1000});
  CHECK(b.observer.tests.empty());
  b.book.evaluation({1, false, 20, 100, 50.0, 90, 1000});
  CHECK(b.observer.tests.empty());
  b.book.evaluation({1, false, 10, 300, 150.0, 210, 1000});
  REQUIRE(b.observer.tests.size() == 1);
  CHECK(b.observer.tests[0].accuracy == Approx(0.75));
  CHECK(b.observer.tests[0].loss == Approx(0.5));
  CHECK(b.observer.tests[0].epoch == 1);
}

TEST_CASE("of several failures the cause comes first, whatever order they came in") {
  Book b(2);
  b.book.failed({ActorKind::reducer, 0, 3, "aborted", Blame::other});
  b.book.failed({ActorKind::worker, 1, 4, "bad shard", Blame::own});
  const std::string text = b.book.failure_text(false);
  CHECK(text == "worker 1 at step 4: bad shard\n  in consequence, reducer 0 at step 3: aborted");
  CHECK_THAT(b.book.failure_text(true), Contains("worker 0 has not ended") && Contains("reducer 1 has not ended"));
}

TEST_CASE("an error of an exchange is a consequence of whatever else is found, also later") {
  Book b(2, on_node);
  b.book.failed({ActorKind::reducer, 0, 3, "rank 1 has gone", Blame::exchange});
  CHECK(b.book.failure_text(false) == "reducer 0 on node h0 (pid 70) at step 3: rank 1 has gone");
  b.book.lost(1, "its connection ended");
  CHECK(b.book.failure_text(false) ==
        "node h1 (pid 71) with rank 1 at step 0 is lost: its connection ended\n"
        "  in consequence, reducer 0 on node h0 (pid 70) at step 3: rank 1 has gone");
}

TEST_CASE("a node that is lost has ended, with the step it was at") {
  Book b(2, on_node);
  b.book.iterations({1, {Book::computed(0, 0), Book::computed(1, 0)}});
  b.book.lost(1, "silent for 5 s");
  REQUIRE(b.book.has_failed());
  CHECK_THAT(b.book.failure_text(true), Contains("node h1 (pid 71) with rank 1 at step 2 is lost: silent for 5 s") &&
                                            Contains("worker 0 on node h0 (pid 70) has not ended") &&
                                            !Contains("worker 1 on"));
  b.book.finished({ActorKind::worker, 0});
  CHECK_FALSE(b.book.all_ended());
  b.book.finished({ActorKind::reducer, 0});
  CHECK(b.book.all_ended());
}

TEST_CASE("of two nodes that call themselves alike only the one that is lost is missed") {
  Book b(2, [](int) { return "node h (pid 1)"; });
  b.book.lost(1, "it left");
  CHECK(b.book.failure_text(true) ==
        "node h (pid 1) with rank 1 at step 0 is lost: it left\n"
        "  worker 0 on node h (pid 1) has not ended\n"
        "  reducer 0 on node h (pid 1) has not ended");
}

TEST_CASE("a node that could not start its actors has none to wait for, and is named") {
  Book b(2, on_node);
  b.book.failed({ActorKind::node, 1, -1, "no interface eth7", Blame::own});
  CHECK(b.book.failure_text(false) == "node h1 (pid 71): no interface eth7");
  b.book.finished({ActorKind::worker, 0});
  b.book.finished({ActorKind::reducer, 0});
  CHECK(b.book.all_ended());
}

TEST_CASE("a node that is lost when all its actors have ended is missed by nobody") {
  Book b(2, on_node);
  b.book.finished({ActorKind::worker, 1});
  b.book.finished({ActorKind::reducer, 1});
  b.book.lost(1, "it left");
  CHECK_FALSE(b.book.has_failed());
}

TEST_CASE("a hang tells who is at which step, and for how long; then only after twice as long again") {
  Book b(2, on_node);
  b.clock->time = std::chrono::seconds(2);
  b.book.iterations({0, {Book::computed(0, 0)}});
  b.clock->time = std::chrono::seconds(11);
  CHECK_FALSE(b.book.hang());
  b.clock->time = std::chrono::seconds(13);
  const auto hang = b.book.hang();
  REQUIRE(hang);
  CHECK_THAT(*hang, Contains("nobody has reported for 11 s") &&
                        Contains("rank 0 (node h0 (pid 70)) at step 1 for 11.0 s") &&
                        Contains("rank 1 (node h1 (pid 71)) at step 0 for 13.0 s"));
  b.clock->time = std::chrono::seconds(20);
  CHECK_FALSE(b.book.hang());
  b.clock->time = std::chrono::seconds(25);
  CHECK(b.book.hang());
  b.book.iterations({1, {Book::computed(0, 0)}});
  b.clock->time = std::chrono::seconds(34);
  CHECK_FALSE(b.book.hang());
}

TEST_CASE("a hang before the first step tells who is not ready") {
  const config::Job job = test::quadratic_job(2, 10, 1, config::Correction::none);
  test::KeepingObserver observer;
  const auto clock = std::make_shared<ManualClock>();
  RunBook book(job, observer, clock);
  clock->time = std::chrono::seconds(100);
  CHECK_FALSE(book.hang());
  for (int rank = 0; rank < 2; ++rank) book.expect(ActorKind::worker, rank, rank, on_node(rank));
  CHECK_FALSE(book.hang());
  clock->time = std::chrono::seconds(102);
  book.ready({0, 5, 5, 10, {"w [5]"}});
  clock->time = std::chrono::seconds(111);
  CHECK_FALSE(book.hang());
  clock->time = std::chrono::seconds(113);
  CHECK(book.hang() == "nobody has reported for 11 s: rank 1 (node h1 (pid 71)) is not ready");
  CHECK(book.summary().training_seconds == 0);
}

TEST_CASE("a hang in the last evaluation tells who has not ended") {
  Book b(2, on_node);
  for (int rank = 0; rank < 2; ++rank) b.book.iterations({rank, {Book::computed(0, 0)}});
  b.book.evaluation({0, true, 1, 100, 50.0, 90, 1000});
  b.book.finished({ActorKind::worker, 0});
  b.clock->time = std::chrono::seconds(12);
  const auto hang = b.book.hang();
  REQUIRE(hang);
  CHECK_THAT(*hang, Contains("rank 1 (node h1 (pid 71)) at step 1") && !Contains("rank 0"));
}

TEST_CASE("workers whose data differ are found before the start") {
  const config::Job job = test::quadratic_job(2, 10, 1, config::Correction::none);
  test::KeepingObserver observer;
  RunBook book(job, observer, std::make_shared<ManualClock>());
  book.ready({0, 5, 5, 10, {"w [5]"}});
  CHECK_THROWS_WITH(book.ready({1, 5, 5, 11, {"w [5]"}}), Contains("10 steps an epoch on rank 0") && Contains("11"));
}

TEST_CASE("the rank to blame ends a row of skipped updates, others go on") {
  SkipWatch blamed(1);
  SkipWatch other(0);
  Update mean;
  mean.weight = 1;
  mean.finite = false;
  mean.non_finite_rank = 1;
  for (mean.step = 0; mean.step < 4; ++mean.step) {
    CHECK_FALSE(blamed.is_to_be_applied(mean));
    CHECK_FALSE(other.is_to_be_applied(mean));
  }
  CHECK_FALSE(other.is_to_be_applied(mean));
  CHECK_THROWS_WITH(blamed.is_to_be_applied(mean), Contains("0 to 4") && Contains("rank 1"));
}

TEST_CASE("a finite mean ends a row of skipped updates; a mean without samples is not applied") {
  SkipWatch watch(0);
  Update bad;
  bad.weight = 1;
  bad.finite = false;
  Update good;
  good.weight = 1;
  for (int i = 0; i < 20; ++i) CHECK(watch.is_to_be_applied(i % 3 == 0 ? good : bad) == (i % 3 == 0));
  good.weight = 0;
  CHECK_FALSE(watch.is_to_be_applied(good));
}
