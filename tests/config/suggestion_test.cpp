#include "config/suggestion.h"

#include <catch2/catch.hpp>

namespace tandem::config {
namespace {

using Catch::Contains;

TEST_CASE("the edit distance counts inserted, deleted, replaced and swapped letters") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("abc", "") == 3);
  CHECK(edit_distance("width", "width") == 0);
  CHECK(edit_distance("width", "with") == 1);
  CHECK(edit_distance("widht", "width") == 1);
  CHECK(edit_distance("widdth", "width") == 1);
  CHECK(edit_distance("wxdth", "width") == 1);
  CHECK(edit_distance("kitten", "sitting") == 3);
}

TEST_CASE("the nearest key is looked for in every table, and first in the one it was written in") {
  CHECK_THAT(unknown_key_message("model", "epoch"), Contains("nearest known key: training.epochs"));
  CHECK_THAT(unknown_key_message("schedule", "warmup_step"), Contains("nearest known key: schedule.warmup_steps"));
  CHECK_THAT(unknown_key_message("topology", "warmup_step"), Contains("nearest known key: topology.warmup_steps"));
  CHECK_THAT(unknown_key_message("data", "widths"), Contains("nearest known key: data.width"));
}

TEST_CASE("the nearest key is said not to be similar where more than a third of the letters differ") {
  CHECK_THAT(unknown_key_message("topology", "widXX"), Contains("nearest known key: topology.width"));
  CHECK_THAT(unknown_key_message("topology", "wiXXX"),
             Contains("nearest known key, though not similar: topology.width"));
  CHECK_THAT(unknown_key_message(std::nullopt, "zzzzzzzzzzzz"), Contains("nearest known key, though not similar: "));
  CHECK_THAT(unknown_key_message("topology", "width" + std::string(1000, 'h')), Contains("though not similar: "));
}

TEST_CASE("where no key is similar, one of the table it was written in is named") {
  // schedule.interval is nearer by letters.
  CHECK_THAT(unknown_key_message("model", "intXXXXXX"), Contains("though not similar: model."));
}

}  // namespace
}  // namespace tandem::config
