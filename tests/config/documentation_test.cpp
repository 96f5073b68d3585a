#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>

#include "config/job_error.h"
#include "config/schema.h"

namespace tandem::config {
namespace {

std::string documentation() {
  std::ifstream stream(TANDEM_SOURCE_DIR "/docs/configuration.md");
  REQUIRE(stream);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::string in_backticks(const std::string& text) {
  std::string result = "`";
  return result.append(text).append("`");
}

std::string default_text(const Key& key) {
  if (!key.fallback.text.empty()) return key.fallback.text;
  return in_backticks(toml_text(key.field.get(Job{}).value()));
}

/// The line that the documentation has for a key.
std::string row(const Key& key) {
  const std::string when = key.effect.when.empty() ? "" : " " + key.effect.when;
  std::string line = "|";
  for (const std::string& cell :
       {in_backticks(path(key)), std::string(type_name(key.field.type)), key.unit.empty() ? "-" : key.unit,
        default_text(key), allowed_text(key), key.meaning + when}) {
    line.append(" ").append(cell).append(" |");
  }
  return line;
}

TEST_CASE("docs/configuration.md has every key with type, unit, default, allowed values and meaning, in order") {
  const std::string text = documentation();
  std::size_t last = 0;
  for (const Key& key : schema()) {
    const std::string line = row(key);
    const std::size_t at = text.find("\n" + line + "\n");
    INFO("expected this line below \"## [" << key.table << "]\":\n" << line);
    REQUIRE(at != std::string::npos);
    CHECK(at > last);
    CHECK(text.rfind("\n## ", at) == text.find("\n## `[" + key.table + "]`"));
    last = at;
  }
}

TEST_CASE("docs/configuration.md has no key that there is not") {
  std::set<std::string> rows;
  for (const Key& key : schema()) rows.insert(row(key));
  std::istringstream lines(documentation());
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("| `", 0) == 0) {
      INFO(line);
      CHECK(rows.contains(line));
    }
  }
}

TEST_CASE("docs/configuration.md shows errors as they are") {
  const std::string text = documentation();
  const auto shows = [&](const std::string& error) {
    INFO(error);
    CHECK(!error.empty());
    CHECK(text.find("\nerror: " + error + "\n") != std::string::npos);
  };
  shows(error_of("[topology]\nwidht = 3\n"));
  shows(error_of("[topology]\nwidth = \"2\"\n"));
  shows(error_of("[optimizer]\nepochs = 3\n"));
  shows(error_of("[topology]\nwidth = 2\nwidth = 3\n"));
  shows(error_of("[topology]\nstaleness = 3\n"));
  shows(error_of("", {"topology.width=x"}));
}

TEST_CASE("docs/configuration.md shows notes as they are") {
  std::vector<std::string> notes;
  const std::vector<std::string> overrides{"topology.name=allreduce"};
  parse_job("[topology]\nname = \"pipeline\"\nwidth = 2\ncorrection = \"local\"\n", "job.toml", overrides, &notes);
  const std::string text = documentation();
  REQUIRE(notes.size() == 2);
  for (const std::string& note : notes) {
    INFO(note);
    CHECK(text.find("\nnote: " + note + "\n") != std::string::npos);
  }
}

TEST_CASE("every key has a meaning, and every default that is a value is allowed") {
  for (const Key& key : schema()) {
    INFO(path(key));
    CHECK_FALSE(key.meaning.empty());
    CHECK(key.meaning.find('|') == std::string::npos);
    if (const auto value = key.field.get(Job{})) CHECK(accepted(key, *value) == value);
  }
}

}  // namespace
}  // namespace tandem::config
