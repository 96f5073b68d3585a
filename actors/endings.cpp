#include "actors/endings.h"

namespace tandem::actors {

Finished finished(const std::string& actor, int rank, const scheduler::SpanRecorder& spans) {
  Finished message{actor, rank, {}, spans.lost(), 0};
  for (const scheduler::Span& span : spans.spans()) {
    message.spans.push_back({span.begin.count(), span.end.count(), span.step, static_cast<std::uint8_t>(span.phase)});
  }
  return message;
}

}  // namespace tandem::actors
