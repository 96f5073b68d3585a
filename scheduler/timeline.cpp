#include "scheduler/timeline.h"

#include <fmt/ostream.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace tandem::scheduler {
namespace {

constexpr std::array<const char*, phase_count> phase_names = {"data",   "forward",  "backward", "wait",    "apply",
                                                              "encode", "exchange", "decode",   "evaluate"};

bool is_work(Phase phase) {
  return phase == Phase::data || phase == Phase::forward || phase == Phase::backward || phase == Phase::apply;
}

double microseconds(Time time) { return static_cast<double>(time.count()) / 1e3; }

Time first_begin(std::span<const Track> tracks) {
  Time first = Time::max();
  for (const Track& track : tracks) {
    for (const Span& span : track.spans) first = std::min(first, span.begin);
  }
  return first;
}

void write_row_name(std::ostream& out, const Track& track, std::size_t row) {
  fmt::print(out,
             R"({{"ph":"M","pid":0,"tid":{0},"name":"thread_name","args":{{"name":"{1} {2}"}}}},)"
             "\n"
             R"({{"ph":"M","pid":0,"tid":{0},"name":"thread_sort_index","args":{{"sort_index":{0}}}}},)"
             "\n",
             row, track.actor, track.rank);
}

}  // namespace

const char* name(Phase phase) { return phase_names.at(static_cast<std::size_t>(phase)); }

SpanRecorder::SpanRecorder(std::size_t capacity) : ring_(capacity) {
  if (capacity == 0) throw std::logic_error("a span recorder keeps at least one span");
}

void SpanRecorder::record(Phase phase, Step step, Time begin, Time end) noexcept {
  ring_[recorded_ % ring_.size()] = {begin, end, step, phase};
  ++recorded_;
}

std::vector<Span> SpanRecorder::spans() const {
  const std::uint64_t kept = std::min<std::uint64_t>(recorded_, ring_.size());
  std::vector<Span> result;
  result.reserve(kept);
  for (std::uint64_t i = recorded_ - kept; i < recorded_; ++i) result.push_back(ring_[i % ring_.size()]);
  return result;
}

std::uint64_t SpanRecorder::lost() const { return recorded_ > ring_.size() ? recorded_ - ring_.size() : 0; }

void write_chrome_trace(std::ostream& out, std::span<const Track> tracks) {
  const Time start = first_begin(tracks);
  fmt::print(out, "{{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
  for (std::size_t row = 0; row < tracks.size(); ++row) {
    write_row_name(out, tracks[row], row);
    for (const Span& span : tracks[row].spans) {
      fmt::print(out,
                 R"({{"ph":"X","pid":0,"tid":{},"name":"{}","ts":{:.3f},"dur":{:.3f},"args":{{"step":{}}}}},)"
                 "\n",
                 row, name(span.phase), microseconds(span.begin - start), microseconds(span.end - span.begin),
                 span.step);
    }
  }
  fmt::print(out, R"({{"ph":"M","pid":0,"name":"process_name","args":{{"name":"tandem"}}}})"
                  "\n]}}\n");
}

double overlap(const Track& worker, const Track& reducer) {
  Time exchanged{};
  Time hidden{};
  auto work = worker.spans.begin();
  for (const Span& span : reducer.spans) {
    if (span.phase != Phase::exchange || worker.spans.empty() || span.begin < worker.spans.front().begin) continue;
    exchanged += span.end - span.begin;
    while (work != worker.spans.end() && work->end <= span.begin) ++work;
    for (auto other = work; other != worker.spans.end() && other->begin < span.end; ++other) {
      if (is_work(other->phase)) hidden += std::min(span.end, other->end) - std::max(span.begin, other->begin);
    }
  }
  return exchanged.count() == 0 ? 0.0 : seconds(hidden) / seconds(exchanged);
}

}  // namespace tandem::scheduler
