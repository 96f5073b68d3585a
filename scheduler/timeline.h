#pragma once

#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "scheduler/clock.h"
#include "scheduler/pipeline_window.h"

// Where the time goes: spans, recorded by each actor for itself, put together when a run ends.
namespace tandem::scheduler {

enum class Phase : std::uint8_t { data, forward, backward, wait, apply, encode, exchange, decode, evaluate };
inline constexpr int phase_count = 9;
const char* name(Phase phase);

/// Something that took from `begin` to `end`. Copied as bytes.
struct Span {
  Time begin{};
  Time end{};
  Step step = 0;
  Phase phase = Phase::data;
};

/// The spans of one actor. Recording never allocates: the newest `capacity` spans are kept. Owner only.
class SpanRecorder {
 public:
  explicit SpanRecorder(std::size_t capacity);

  void record(Phase phase, Step step, Time begin, Time end) noexcept;

  /// What is kept, oldest first.
  std::vector<Span> spans() const;
  /// Spans that newer ones have replaced.
  std::uint64_t lost() const;

 private:
  std::vector<Span> ring_;
  std::uint64_t recorded_ = 0;
};

/// One row of the picture.
struct Track {
  std::string actor;  ///< "worker", "reducer" or "parameter server"
  int rank = 0;
  std::vector<Span> spans;
  std::uint64_t lost = 0;
};

/// Writes `tracks` in Chrome's trace event format (Perfetto and chrome://tracing open it), times from the first span
/// on, one row a track in the given order.
void write_chrome_trace(std::ostream& out, std::span<const Track> tracks);

/// The share of the exchange spans' time in `reducer` during which `worker` was computing or applying, 0 to 1, over the
/// exchanges that began after the first span that `worker` still holds; 0 where there are none.
double overlap(const Track& worker, const Track& reducer);

}  // namespace tandem::scheduler
