#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "actors/messages.h"
#include "actors/run.h"
#include "models/learning_rate.h"
#include "scheduler/run_permits.h"

namespace tandem::actors {

/// What the driver knows of its run: who is ready, what was reported, who has ended. Plain state without actors; owner
/// only. A report that breaks a rule throws std::runtime_error with a message for the user.
class RunBook {
 public:
  RunBook(const config::Job& job, RunObserver& observer, std::shared_ptr<const scheduler::Clock> clock);

  /// This actor takes part, and its end is waited for. It is on that node, whose text is empty if it is this process.
  void expect(ActorKind kind, int rank, int node, const std::string& node_text);

  /// Throws where this worker's model differs from the others', naming parameter, shapes and ranks.
  void ready(const WorkerReady& worker);
  bool all_ready() const { return static_cast<int>(ready_.size()) == workers(); }

  /// Training starts now, with everybody ready.
  void start();
  bool started() const { return permits_.has_value(); }
  /// What parameter servers must know to start.
  StartServing serving() const;

  /// Permits to be sent now.
  std::vector<scheduler::WorkerPermit> permits();
  /// The permits that end the run in order; none for those that were granted their last one already.
  std::vector<scheduler::WorkerPermit> interrupt();

  /// Audits the width and keeps the figures; tells the observer when a report is due.
  void iterations(const IterationReport& report);
  void evaluation(const EvaluationReport& report);
  void spans(const Spans& spans);
  void finished(const Finished& actor);
  void failed(const Failed& actor);

  /// That node is gone, with all actors on it. Fails the run if one of them had not ended.
  void lost(int node, const std::string& reason);

  bool has_failed() const { return !failures_.empty(); }
  /// Whether every actor that is expected has ended, as far as anybody can tell.
  bool all_ended() const;

  /// Where a run hangs in which nobody has reported anything for long, from the placement of its actors to their end;
  /// unset if it does not hang, or was told to.
  std::optional<std::string> hang();

  /// The figures so far.
  RunSummary summary() const;
  /// What went wrong, the cause first; who has not ended yet, if `stuck`.
  std::string failure_text(bool stuck) const;

 private:
  using ActorName = std::pair<ActorKind, int>;
  struct Place {
    int node = 0;
    std::string text;
  };

  int workers() const { return job_.training.workers; }
  scheduler::Time trained() const;
  double training_seconds() const;
  double wall_seconds() const;
  double mean_overlap() const;
  std::int64_t steps_done() const;
  void audit(int rank, const Iteration& iteration) const;
  void count(int rank, const Iteration& iteration);
  void add_exchange(const ExchangeReport& exchange);
  void add_step(const Iteration& iteration);
  void add(scheduler::Phase phase, std::int64_t ns);
  void add_to_epoch(const Iteration& iteration);
  void report_if_due(bool at_the_end);
  std::string describe(const Failed& failure) const;
  std::string standing() const;
  std::string place_text(const Failed& failure) const;

  // Sums over samples, of all workers.
  struct Sums {
    std::int64_t samples = 0;
    double loss = 0;
    std::int64_t correct = 0;
    void add(std::int64_t more_samples, double more_loss, std::int64_t more_correct);
    double mean_loss() const { return samples == 0 ? 0.0 : loss / static_cast<double>(samples); }
    double accuracy() const { return samples == 0 ? 0.0 : static_cast<double>(correct) / static_cast<double>(samples); }
  };
  struct Evaluated {
    int workers = 0;
    Sums sums;
  };

  const config::Job job_;
  RunObserver& observer_;
  std::shared_ptr<const scheduler::Clock> clock_;
  scheduler::Time created_;

  std::map<int, WorkerReady> ready_;
  std::optional<scheduler::RunPermits> permits_;
  std::optional<models::LearningRate> rate_;
  std::int64_t total_steps_ = 0;
  std::int64_t steps_per_epoch_ = 0;
  scheduler::Time started_{};
  scheduler::Time heard_{};  // when a worker last reported, or was placed

  std::map<ActorName, Place> expected_;       // all but node and driver
  std::vector<std::int64_t> steps_of_;        // by rank
  std::vector<scheduler::Time> heard_of_;     // by rank: when it last reported a step
  std::optional<scheduler::Time> hang_told_;  // heard_ when a hang was last told of
  scheduler::Time hang_patience_{};           // until it is told of again
  std::vector<scheduler::Time> evaluating_;   // by rank, in sum
  std::uint64_t bytes_sent_ = 0;              // by all workers
  Sums since_report_;
  std::map<std::int64_t, Sums> epochs_;  // the newest two: workers cross an epoch's end at different times
  // Until all workers' shares are there; by whether it is the last, and by steps done.
  std::map<std::pair<bool, std::int64_t>, Evaluated> evaluations_;
  scheduler::Time reported_{};  // trained() at the last report

  std::map<std::pair<int, ActorKind>, scheduler::Track> tracks_;  // by rank; its worker's, its reducer's, the server's
  RunSummary summary_;                                            // but for what summary() works out
  std::set<ActorName> ended_;
  std::vector<Failed> failures_;
};

}  // namespace tandem::actors
