#include "scheduler/timeline.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

namespace {

using namespace tandem::scheduler;

Span span(Phase phase, int begin, int end, Step step = 0) { return {Time(begin), Time(end), step, phase}; }

}  // namespace

TEST_CASE("a recorder keeps the newest spans and counts those it lost") {
  SpanRecorder recorder(3);
  for (int i = 0; i < 5; ++i) recorder.record(Phase::data, i, Time(i), Time(i + 1));
  const std::vector<Span> spans = recorder.spans();
  REQUIRE(spans.size() == 3);
  CHECK(spans.front().step == 2);
  CHECK(spans.back().step == 4);
  CHECK(recorder.lost() == 2);
}

TEST_CASE("a trace has a named row for each track and an event for each span, in microseconds from the first") {
  const std::vector<Track> tracks = {
      {"worker", 0, {span(Phase::forward, 5000, 7500, 3)}, 0},
      {"reducer", 0, {span(Phase::exchange, 6000, 9000, 2)}, 0},
  };
  std::ostringstream out;
  write_chrome_trace(out, tracks);
  const auto trace = nlohmann::json::parse(out.str());
  std::vector<nlohmann::json> spans;
  std::vector<std::string> rows;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] == "X") spans.push_back(event);
    if (event["name"] == "thread_name") rows.push_back(event["args"]["name"]);
  }
  CHECK(rows == std::vector<std::string>{"worker 0", "reducer 0"});
  REQUIRE(spans.size() == 2);
  CHECK(spans[0]["name"] == "forward");
  CHECK(spans[0]["ts"] == 0.0);
  CHECK(spans[0]["dur"] == 2.5);
  CHECK(spans[0]["args"]["step"] == 3);
  CHECK(spans[1]["ts"] == 1.0);
  CHECK(spans[1]["tid"] != spans[0]["tid"]);
}

TEST_CASE("a trace without spans is valid") {
  std::ostringstream out;
  write_chrome_trace(out, {});
  CHECK(nlohmann::json::parse(out.str())["traceEvents"].is_array());
}

TEST_CASE("overlap is the share of the exchange beside which the worker worked") {
  const Track worker{
      "worker", 0, {span(Phase::forward, 0, 10), span(Phase::wait, 10, 20), span(Phase::apply, 20, 30)}, 0};
  const auto of = [&](std::vector<Span> exchanges) { return overlap(worker, {"reducer", 0, std::move(exchanges), 0}); };
  CHECK(of({span(Phase::exchange, 0, 10)}) == 1.0);
  CHECK(of({span(Phase::exchange, 10, 20)}) == 0.0);
  CHECK(of({span(Phase::exchange, 5, 25)}) == 0.5);
  CHECK(of({span(Phase::exchange, 0, 10), span(Phase::exchange, 30, 40)}) == 0.5);
  CHECK(of({}) == 0.0);
  CHECK(of({span(Phase::exchange, -20, -10), span(Phase::exchange, 0, 10)}) == 1.0);
}
