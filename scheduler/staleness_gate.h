#pragma once

#include <optional>
#include <vector>

#include "scheduler/pipeline_window.h"

// How far a worker may run ahead of the slowest, where each goes at its own pace.
//
// Rules
//   1. Each worker pushes the gradients of steps 0, 1, 2, ... and may have `width` of them without an answer: with the
//      answer to step t it may begin step t + width.
//   2. The slowest worker is the one that has pushed fewest, of those that go on. It is in the step that follows.
//   3. An answer is due as soon as the step that it allows is at most `bound` steps ahead of the slowest worker's.
//   4. A worker that goes on no more holds nobody up.
namespace tandem::scheduler {

/// Decides which answers a parameter server may give. Pure logic; owner only. Misuse throws std::logic_error.
class StalenessGate {
 public:
  struct Options {
    int workers = 1;
    int width = 1;
    /// At least width - 1, or no worker could begin; unset: no bound.
    std::optional<Step> bound = std::nullopt;
  };

  /// An answer that is due.
  struct Answer {
    int worker = 0;
    Step step = 0;
    /// Steps that the worker's next one is ahead of the slowest worker's; never above the bound.
    Step ahead = 0;
    friend bool operator==(const Answer&, const Answer&) = default;
  };

  explicit StalenessGate(const Options& options);

  /// The worker's next gradient has come. Not before its last one was answered.
  void pushed(int worker);
  /// The worker pushes no more.
  void ended(int worker);

  /// The answers that have become due, by worker; each is given once.
  std::vector<Answer> due();

  /// Whether a gradient waits for its answer.
  bool holds_any() const;
  /// The workers that everybody is ahead of; none if all have ended.
  std::vector<int> slowest() const;

 private:
  struct Worker {
    Step pushed = 0;
    bool waits = false;
    bool ended = false;
  };

  std::optional<Step> least_pushed() const;
  Worker& at(int worker) { return workers_.at(static_cast<std::size_t>(worker)); }

  Options options_;
  std::vector<Worker> workers_;
};

}  // namespace tandem::scheduler
