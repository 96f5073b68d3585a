#include "tools/console.h"

#include <fmt/format.h>
#include <unistd.h>

namespace tandem::tools {
namespace {

using scheduler::DurationHistogram;
using scheduler::Phase;

std::string duration(scheduler::Time time) {
  const double us = static_cast<double>(time.count()) / 1e3;
  if (us < 1e3) return fmt::format("{:.1f} us", us);
  if (us < 1e6) return fmt::format("{:.2f} ms", us / 1e3);
  return fmt::format("{:.2f} s", us / 1e6);
}

std::string row(const std::string& name, const DurationHistogram& phase, const DurationHistogram& step) {
  const double share =
      step.total().count() == 0 ? 0 : 100 * scheduler::seconds(phase.total()) / scheduler::seconds(step.total());
  return fmt::format("  {:<10}{:>12}{:>12}{:>8.1f} %", name, duration(phase.median()), duration(phase.quantile(0.95)),
                     share);
}

std::string staleness_text(const std::vector<std::int64_t>& steps) {
  std::string text;
  for (std::size_t ahead = 0; ahead < steps.size(); ++ahead) {
    if (steps[ahead] > 0) text += fmt::format("{}{} ahead: {}", text.empty() ? "" : ", ", ahead, steps[ahead]);
  }
  return fmt::format("  steps allowed {}; largest staleness seen {}", text, steps.size() - 1);
}

}  // namespace

Console::Console(std::FILE* out) : out_(out), terminal_(::isatty(::fileno(out)) == 1) {}

Console::~Console() { clear_live_line(); }

void Console::headline(const config::Job& job, const std::string& where) {
  const std::int64_t samples = job.training.batch * job.training.accumulate;
  line(fmt::format("{}: {} on {} workers of {} samples a step, {}", job.run.name, name(job.model.kind),
                   job.training.workers, samples, where));
  const config::Topology& topology = job.topology;
  std::string text = fmt::format("topology {}, width {}, correction {}", name(topology.kind), topology.width,
                                 name(topology.correction));
  if (topology.codec != config::Codec::none) text += fmt::format(", codec {}", name(topology.codec));
  if (topology.algorithm != config::Algorithm::native) text += fmt::format(", algorithm {}", name(topology.algorithm));
  if (topology.staleness) text += fmt::format(", staleness {}", *topology.staleness);
  if (config::has_parameter_servers(topology.kind)) text += fmt::format(", servers {}", topology.servers);
  line(text);
}

void Console::progress(const actors::Progress& progress) {
  const std::string text = fmt::format(
      "step {}/{}  epoch {:.2f}  loss {:.4f}  lr {:.4g}  {:.0f} samples/s  {:.1f} s", progress.steps_done,
      progress.total_steps, static_cast<double>(progress.steps_done) / static_cast<double>(progress.steps_per_epoch),
      progress.loss, progress.learning_rate, progress.samples_per_second, progress.training_seconds);
  if (!terminal_) return line(text);
  fmt::print(out_, "\r\x1b[K{}", text);
  std::fflush(out_);
  live_ = true;
}

void Console::test(const actors::TestResult& result) {
  line(fmt::format("epoch {}  step {}  test loss {:.4f}  test accuracy {:.4f}  after {:.1f} s", result.epoch,
                   result.steps_done, result.loss, result.accuracy, result.training_seconds));
}

void Console::closing_table(const actors::RunSummary& summary) {
  line("");
  if (summary.steps == 0) return line("  no step was taken");
  line(fmt::format("  {:<10}{:>12}{:>12}{:>10}", "of a step", "median", "p95", "share"));
  for (const Phase phase : {Phase::data, Phase::forward, Phase::backward, Phase::wait, Phase::apply}) {
    line(row(scheduler::name(phase), summary.phase(phase), summary.step));
  }
  line(row("step", summary.step, summary.step));
  line(row("exchange", summary.phase(Phase::exchange), summary.step) +
       fmt::format("  beside it; {:.0f} % of it hidden behind compute", 100 * summary.overlap));
  for (const Phase phase : {Phase::encode, Phase::decode}) {
    if (summary.phase(phase).count() == 0) continue;
    line(row(scheduler::name(phase), summary.phase(phase), summary.step) + "  of the exchange");
  }
  if (!summary.staleness.empty()) line(staleness_text(summary.staleness));
  line(fmt::format("  {} steps, {} samples in {:.2f} s of training: {:.0f} samples/s", summary.steps, summary.samples,
                   summary.training_seconds, summary.samples_per_second()));
  if (summary.skipped_updates > 0) {
    line(fmt::format("  {} updates skipped: their mean gradient was not finite", summary.skipped_updates));
  }
  if (summary.test) line(fmt::format("  test accuracy {:.4f}", summary.test->accuracy));
}

void Console::line(const std::string& text) {
  clear_live_line();
  fmt::print(out_, "{}\n", text);
  std::fflush(out_);
}

void Console::warning(const std::string& text) {
  clear_live_line();
  fmt::print(stderr, "warning: {}\n", text);
}

void Console::clear_live_line() {
  if (!live_) return;
  fmt::print(out_, "\r\x1b[K");
  std::fflush(out_);
  live_ = false;
}

}  // namespace tandem::tools
