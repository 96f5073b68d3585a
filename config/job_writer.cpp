#include "config/job_reader.h"
#include "config/schema.h"

namespace tandem::config {
namespace {

/// An unset value has no form in TOML, so a comment tells of it.
std::string line_of(const Key& key, const std::optional<Value>& value) {
  return value ? key.name + " = " + toml_text(*value) : "# " + key.name + " = " + key.fallback.text;
}

}  // namespace

std::string to_toml(const Job& job) {
  std::string text;
  std::string table;
  for (const Key& key : schema()) {
    if (!why_no_effect(key, job).empty()) continue;
    if (table != key.table) {
      text += (table.empty() ? "[" : "\n[") + key.table + "]\n";
      table = key.table;
    }
    text += line_of(key, key.field.get(job)) + "\n";
  }
  return text;
}

}  // namespace tandem::config
