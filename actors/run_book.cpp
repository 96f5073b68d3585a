#include "actors/run_book.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace tandem::actors {
namespace {

using scheduler::Phase;
using scheduler::Time;

void compare(const WorkerReady& first, const WorkerReady& other) {
  const std::size_t count = std::max(first.parameters.size(), other.parameters.size());
  for (std::size_t i = 0; i < count; ++i) {
    const std::string a = i < first.parameters.size() ? first.parameters[i] : "nothing";
    const std::string b = i < other.parameters.size() ? other.parameters[i] : "nothing";
    if (a == b) continue;
    throw std::runtime_error(fmt::format("the workers' models differ: parameter {} is {} on rank {}, but {} on rank {}",
                                         i, a, first.rank, b, other.rank));
  }
  if (first.size != other.size) {
    throw std::runtime_error(fmt::format("the workers' models differ: {} values on rank {}, but {} on rank {}",
                                         first.size, first.rank, other.size, other.rank));
  }
  if (first.steps_per_epoch != other.steps_per_epoch) {
    throw std::runtime_error(fmt::format("the workers' data differ: {} steps an epoch on rank {}, but {} on rank {}",
                                         first.steps_per_epoch, first.rank, other.steps_per_epoch, other.rank));
  }
}

scheduler::Pace pace_of(const config::Topology& topology) {
  if (config::is_synchronous(topology)) return scheduler::Pace::together;
  return topology.staleness ? scheduler::Pace::own : scheduler::Pace::shared;
}

// The text of a failure names it.
constexpr int no_node = -1;

// Those of which there may be several, and for whose end the run waits.
bool has_rank(ActorKind kind) { return kind != ActorKind::node && kind != ActorKind::driver; }

std::string listed(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "" : ", ") + item;
  return text;
}

// A step that takes longer than others is no hang yet.
Time hang_patience(const scheduler::DurationHistogram& steps) {
  constexpr Time least = std::chrono::seconds(10);
  return steps.count() == 0 ? least : std::max(least, 10 * steps.quantile(0.99));
}

}  // namespace

void RunBook::Sums::add(std::int64_t more_samples, double more_loss, std::int64_t more_correct) {
  samples += more_samples;
  loss += more_loss;
  correct += more_correct;
}

RunBook::RunBook(const config::Job& job, RunObserver& observer, std::shared_ptr<const scheduler::Clock> clock)
    : job_(job),
      observer_(observer),
      clock_(std::move(clock)),
      created_(clock_->now()),
      steps_of_(static_cast<std::size_t>(job.training.workers)),
      heard_of_(static_cast<std::size_t>(job.training.workers)),
      evaluating_(static_cast<std::size_t>(job.training.workers)) {}

void RunBook::expect(ActorKind kind, int rank, int node, const std::string& node_text) {
  expected_[{kind, rank}] = {node, node_text};
  heard_ = clock_->now();
}

void RunBook::ready(const WorkerReady& worker) {
  if (worker.rank < 0 || worker.rank >= workers()) throw std::runtime_error("a report of a rank that there is not");
  if (!ready_.empty()) compare(ready_.begin()->second, worker);
  ready_[worker.rank] = worker;
  heard_ = clock_->now();
}

void RunBook::start() {
  const WorkerReady& worker = ready_.begin()->second;
  steps_per_epoch_ = worker.steps_per_epoch;
  total_steps_ = config::total_steps(job_.training, steps_per_epoch_);
  summary_.parameters = static_cast<std::int64_t>(worker.parameter_count);
  rate_.emplace(job_.optimizer, job_.schedule, total_steps_);
  scheduler::PermitPlanOptions options;
  options.total_steps = total_steps_;
  options.warmup_steps = job_.topology.warmup_steps;
  options.width = job_.topology.width;
  permits_.emplace(workers(), pace_of(job_.topology), options);
  started_ = heard_ = clock_->now();
  std::fill(heard_of_.begin(), heard_of_.end(), started_);
}

StartServing RunBook::serving() const {
  const WorkerReady& worker = ready_.begin()->second;
  return {worker.size, worker.parameter_count, worker.steps_per_epoch};
}

std::vector<scheduler::WorkerPermit> RunBook::permits() { return permits_->extend(steps_of_, trained()); }

std::vector<scheduler::WorkerPermit> RunBook::interrupt() {
  const std::vector<scheduler::WorkerPermit> permits = permits_->close();
  if (!permits.empty()) summary_.interrupted = true;
  return permits;
}

void RunBook::iterations(const IterationReport& report) {
  if (!started() || report.rank < 0 || report.rank >= workers()) {
    throw std::runtime_error("a report of steps that nobody may have computed");
  }
  heard_ = clock_->now();
  for (const Iteration& iteration : report.iterations) {
    audit(report.rank, iteration);
    count(report.rank, iteration);
  }
  report_if_due(false);
}

void RunBook::audit(int rank, const Iteration& iteration) const {
  if (iteration.computed) {
    const auto violation = permits_->audit(rank, iteration.step, iteration.applied);
    if (violation) throw std::runtime_error(*violation);
  }
  for (const ExchangeReport& exchange : iteration.exchanges) {
    if (!job_.topology.staleness || exchange.ahead <= *job_.topology.staleness) continue;
    throw std::runtime_error(fmt::format("worker {} was {} steps ahead of the slowest, permitted are {}", rank,
                                         exchange.ahead, *job_.topology.staleness));
  }
}

void RunBook::count(int rank, const Iteration& iteration) {
  for (const ExchangeReport& exchange : iteration.exchanges) add_exchange(exchange);
  // A mean is skipped by all alike.
  if (rank == 0 || !config::is_synchronous(job_.topology)) summary_.skipped_updates += iteration.skipped;
  if (!iteration.computed) return;
  if (iteration.step_ns >= 0) add_step(iteration);
  steps_of_.at(static_cast<std::size_t>(rank)) = iteration.step + 1;
  heard_of_.at(static_cast<std::size_t>(rank)) = heard_;
  summary_.samples += iteration.samples;
  since_report_.add(iteration.samples, iteration.loss_sum, iteration.correct);
  add_to_epoch(iteration);
}

void RunBook::add_exchange(const ExchangeReport& exchange) {
  add(Phase::exchange, exchange.exchange_ns);
  if (exchange.encode_ns > 0) add(Phase::encode, exchange.encode_ns);
  if (exchange.decode_ns > 0) add(Phase::decode, exchange.decode_ns);
  bytes_sent_ += exchange.bytes_sent;
  if (exchange.ahead < 0) return;
  const auto ahead = static_cast<std::size_t>(exchange.ahead);
  if (summary_.staleness.size() <= ahead) summary_.staleness.resize(ahead + 1);
  ++summary_.staleness[ahead];
}

void RunBook::add_step(const Iteration& iteration) {
  add(Phase::wait, iteration.wait_ns);
  add(Phase::apply, iteration.apply_ns);
  add(Phase::data, iteration.data_ns);
  add(Phase::forward, iteration.forward_ns);
  add(Phase::backward, iteration.backward_ns);
  summary_.compute.add(Time(iteration.data_ns + iteration.forward_ns + iteration.backward_ns));
  summary_.step.add(Time(iteration.step_ns));
}

void RunBook::add(Phase phase, std::int64_t ns) { summary_.phases[static_cast<std::size_t>(phase)].add(Time(ns)); }

void RunBook::add_to_epoch(const Iteration& iteration) {
  epochs_[iteration.step / steps_per_epoch_].add(iteration.samples, iteration.loss_sum, iteration.correct);
  if (epochs_.size() > 2) epochs_.erase(epochs_.begin());
}

void RunBook::report_if_due(bool at_the_end) {
  const double interval = scheduler::seconds(trained() - reported_);
  const bool due = interval >= job_.run.report_seconds;
  if (has_failed() || since_report_.samples == 0 || !(due || at_the_end)) return;
  const Sums sums = std::exchange(since_report_, {});
  reported_ = trained();
  Progress progress;
  progress.steps_done = steps_done();
  progress.total_steps = total_steps_;
  progress.steps_per_epoch = steps_per_epoch_;
  progress.loss = sums.mean_loss();
  progress.train_accuracy = sums.accuracy();
  progress.learning_rate = rate_->at(std::max<std::int64_t>(0, progress.steps_done - 1));
  // Workers report in batches, so that over a short while the pace says nothing.
  const bool long_enough = interval > job_.run.report_seconds / 2;
  const double seconds = long_enough ? interval : training_seconds();
  const std::int64_t samples = long_enough ? sums.samples : summary_.samples;
  progress.samples_per_second = seconds > 0 ? static_cast<double>(samples) / seconds : 0;
  progress.training_seconds = training_seconds();
  progress.wall_seconds = wall_seconds();
  observer_.on_progress(progress);
}

void RunBook::evaluation(const EvaluationReport& report) {
  heard_ = clock_->now();
  evaluating_.at(static_cast<std::size_t>(report.rank)) += Time(report.duration_ns);
  add(Phase::evaluate, report.duration_ns);
  const std::pair<bool, std::int64_t> key(report.last, report.last ? total_steps_ : report.steps_done);
  Evaluated& evaluated = evaluations_[key];
  evaluated.sums.add(report.samples, report.loss_sum, report.correct);
  if (++evaluated.workers < workers()) return;
  TestResult result;
  result.steps_done = key.second;
  result.epoch = steps_per_epoch_ == 0 ? 0 : key.second / steps_per_epoch_;
  result.loss = evaluated.sums.mean_loss();
  result.accuracy = evaluated.sums.accuracy();
  result.training_seconds = training_seconds();
  result.wall_seconds = wall_seconds();
  evaluations_.erase(key);
  summary_.test = result;
  report_if_due(report.last);
  if (!has_failed()) observer_.on_test(result);
}

void RunBook::spans(const Spans& spans) {
  scheduler::Track track{name(spans.actor), spans.rank, {}, spans.lost};
  track.spans.reserve(spans.spans.size());
  for (const SpanRecord& span : spans.spans) {
    if (span.phase >= scheduler::phase_count) throw std::runtime_error("a span of a phase that there is not");
    track.spans.push_back({Time(span.begin_ns), Time(span.end_ns), span.step, static_cast<Phase>(span.phase)});
  }
  tracks_[{spans.rank, spans.actor}] = std::move(track);
}

bool RunBook::all_ended() const {
  if (expected_.empty()) return has_failed();
  return std::all_of(expected_.begin(), expected_.end(),
                     [this](const auto& actor) { return ended_.contains(actor.first); });
}

void RunBook::finished(const Finished& actor) {
  ended_.emplace(actor.actor, actor.rank);
  if (all_ended()) report_if_due(true);
}

void RunBook::failed(const Failed& actor) {
  if (has_rank(actor.actor)) ended_.emplace(actor.actor, actor.rank);
  // It could not start them.
  for (const auto& [other, place] : expected_) {
    if (actor.actor == ActorKind::node && place.node == actor.rank) ended_.insert(other);
  }
  failures_.push_back(actor);
}

void RunBook::lost(int node, const std::string& reason) {
  std::string node_text;
  std::vector<std::string> ranks;
  bool needed = false;
  for (const auto& [actor, place] : expected_) {
    if (place.node != node) continue;
    node_text = place.text;
    needed |= ended_.insert(actor).second;
    const auto& [kind, rank] = actor;
    if (kind == ActorKind::worker) {
      ranks.push_back(fmt::format("rank {} at step {}", rank, steps_of_[static_cast<std::size_t>(rank)]));
    } else if (kind == ActorKind::parameter_server) {
      ranks.push_back(fmt::format("parameter server {}", rank));
    }
  }
  if (!needed) return;
  // Whoever watches it may have begun with its name.
  const std::string why = reason.starts_with(node_text + " ") ? "it" + reason.substr(node_text.size()) : reason;
  failures_.push_back(
      {ActorKind::node, no_node, -1, fmt::format("{} with {} is lost: {}", node_text, listed(ranks), why), Blame::own});
}

std::optional<std::string> RunBook::hang() {
  if (expected_.empty() || has_failed() || all_ended()) return std::nullopt;
  if (heard_ != hang_told_) {
    hang_told_ = heard_;
    hang_patience_ = hang_patience(summary_.step);
  }
  const Time quiet = clock_->now() - heard_;
  if (quiet < hang_patience_) return std::nullopt;
  hang_patience_ = 2 * quiet;
  return fmt::format("nobody has reported for {:.0f} s: {}", scheduler::seconds(quiet), standing());
}

// "rank 0 (node h2 (host gpu2, pid 4711)) at step 12 for 3.1 s, rank 1 ..."; before the start "rank 0 (...) is not
// ready"
std::string RunBook::standing() const {
  std::vector<std::string> ranks;
  for (int rank = 0; rank < workers(); ++rank) {
    if (ended_.contains({ActorKind::worker, rank}) || (!started() && ready_.contains(rank))) continue;
    const auto place = expected_.find({ActorKind::worker, rank});
    const std::string node =
        place == expected_.end() || place->second.text.empty() ? "" : " (" + place->second.text + ")";
    if (!started()) {
      ranks.push_back(fmt::format("rank {}{} is not ready", rank, node));
      continue;
    }
    ranks.push_back(fmt::format("rank {}{} at step {} for {:.1f} s", rank, node,
                                steps_of_[static_cast<std::size_t>(rank)],
                                scheduler::seconds(clock_->now() - heard_of_[static_cast<std::size_t>(rank)])));
  }
  return listed(ranks);
}

std::string RunBook::place_text(const Failed& failure) const {
  const auto on = std::find_if(expected_.begin(), expected_.end(), [&](const auto& actor) {
    if (failure.actor == ActorKind::node) return actor.second.node == failure.rank;
    return actor.first == ActorName{failure.actor, failure.rank};
  });
  return on == expected_.end() ? "" : on->second.text;
}

std::string RunBook::describe(const Failed& failure) const {
  if (failure.actor == ActorKind::node && failure.rank == no_node) return failure.what;
  const std::string place = place_text(failure);
  std::string where = name(failure.actor);
  if (has_rank(failure.actor)) where += fmt::format(" {}", failure.rank);
  if (!place.empty()) where = failure.actor == ActorKind::node ? place : where + " on " + place;
  const std::string when = failure.step < 0 ? "" : fmt::format(" at step {}", failure.step);
  return fmt::format("{}{}: {}", where, when, failure.what);
}

std::int64_t RunBook::steps_done() const {
  if (pace_of(job_.topology) != scheduler::Pace::shared) return *std::min_element(steps_of_.begin(), steps_of_.end());
  return std::accumulate(steps_of_.begin(), steps_of_.end(), std::int64_t{0}) / workers();
}

Time RunBook::trained() const {
  if (!started()) return Time::zero();
  return heard_ - started_ - *std::max_element(evaluating_.begin(), evaluating_.end());
}

double RunBook::training_seconds() const { return scheduler::seconds(trained()); }

double RunBook::wall_seconds() const { return scheduler::seconds(clock_->now() - created_); }

double RunBook::mean_overlap() const {
  double sum = 0;
  int pairs = 0;
  for (int rank = 0; rank < workers(); ++rank) {
    const auto worker = tracks_.find({rank, ActorKind::worker});
    const auto reducer = tracks_.find({rank, ActorKind::reducer});
    if (worker == tracks_.end() || reducer == tracks_.end()) continue;
    sum += scheduler::overlap(worker->second, reducer->second);
    ++pairs;
  }
  return pairs == 0 ? 0 : sum / pairs;
}

RunSummary RunBook::summary() const {
  RunSummary summary = summary_;
  summary.steps = steps_done();
  summary.wall_seconds = wall_seconds();
  summary.training_seconds = training_seconds();
  for (const auto& [epoch, sums] : epochs_) {
    if (sums.samples > 0) summary.loss = sums.mean_loss();
  }
  for (const auto& [place, track] : tracks_) {
    summary.tracks.push_back(track);
    summary.spans_lost += track.lost;
  }
  summary.overlap = mean_overlap();
  summary.bytes_sent = bytes_sent_ / static_cast<std::uint64_t>(workers());
  return summary;
}

std::string RunBook::failure_text(bool stuck) const {
  // What an actor saw in an exchange may be another's fault that is only found later.
  const auto first_with = [this](Blame blame) {
    return std::find_if(failures_.begin(), failures_.end(), [=](const Failed& f) { return f.blame == blame; });
  };
  auto cause = first_with(Blame::own);
  if (cause == failures_.end()) cause = first_with(Blame::exchange);
  if (cause == failures_.end()) cause = failures_.begin();
  std::string text = describe(*cause);
  for (auto failure = failures_.begin(); failure != failures_.end(); ++failure) {
    if (failure != cause) text += "\n  in consequence, " + describe(*failure);
  }
  for (const auto& [actor, place] : expected_) {
    if (!stuck || ended_.contains(actor)) continue;
    const std::string on = place.text.empty() ? "" : " on " + place.text;
    text += fmt::format("\n  {} {}{} has not ended", name(actor.first), actor.second, on);
  }
  return text;
}

}  // namespace tandem::actors
