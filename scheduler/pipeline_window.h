#pragma once

#include <cstdint>
#include <deque>

// Which step a worker may compute, and which updates it must have applied before.
//
// Rules
//   1. Steps are computed, and their updates arrive and are applied, in the order 0, 1, 2, ...
//   2. A step is computed only inside a permit. Permits follow each other without gaps: one reaches from the end of the
//      one before to its own `until` (exclusive), and holds the width of all steps between.
//   3. Before step t is computed at width k, the updates of steps 0 .. t-k are applied, and no later one that is not
//      applied already, even if it has arrived. So what a step sees depends on permits alone, never on timing.
//   4. After the last permitted step, or an end before it, the updates still in flight are applied, in order.
namespace tandem::scheduler {

using Step = std::int64_t;

/// Steps [first, end).
struct StepRange {
  Step first = 0;
  Step end = 0;
  Step count() const { return end - first; }
  friend bool operator==(const StepRange&, const StepRange&) = default;
};

/// Allows the steps up to `until` (exclusive), at most `width` of them in flight at once.
struct Permit {
  Step until = 0;
  int width = 1;
  /// No permit follows: the run ends at `until`.
  bool last = false;
  friend bool operator==(const Permit&, const Permit&) = default;
};

/// One worker's state. Pure logic; owner only. Misuse (a step out of order, say) throws std::logic_error.
class PipelineWindow {
 public:
  /// `max_width`: the largest width that a permit may hold; the number of gradient slots.
  explicit PipelineWindow(int max_width);

  void grant(const Permit& permit);
  /// No further step, whatever was permitted; for a worker that need not end at the same step as the others.
  void end();
  void update_arrived(Step step);

  enum class Next {
    compute,       ///< apply due(), then compute step(); call step_computed()
    await_permit,  ///< step() is not permitted yet
    await_update,  ///< an update in due() has not arrived yet
    apply_rest,    ///< all steps are computed; apply due(), then call rest_applied()
    done,
  };
  Next next() const;

  /// The step to be computed next.
  Step step() const { return step_; }
  /// Updates to be applied before step(), or those left when all steps are computed. Not to be called while next() is
  /// await_permit.
  StepRange due() const;
  /// Steps computed whose updates are not applied once due() is.
  StepRange in_flight() const { return {due().end, step_}; }
  /// Updates applied so far.
  Step applied() const { return applied_; }

  void step_computed();
  void rest_applied();

 private:
  bool ended() const { return last_ && step_ == permitted_until(); }
  Step permitted_until() const { return permits_.empty() ? step_ : permits_.back().until; }

  int max_width_;
  Step step_ = 0;
  Step applied_ = 0;
  Step arrived_ = 0;
  bool last_ = false;
  std::deque<Permit> permits_;  // the one that holds step_ first
};

}  // namespace tandem::scheduler
