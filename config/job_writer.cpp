#include "config/job_reader.h"
#include "config/schema.h"

namespace tandem::config {

std::string to_toml(const Job& job) {
  std::string text;
  std::string table;
  for (const Key& key : schema()) {
    const std::optional<Value> value = key.field.get(job);
    if (!value || !why_no_effect(key, job).empty()) continue;
    if (table != key.table) {
      text += (table.empty() ? "[" : "\n[") + key.table + "]\n";
      table = key.table;
    }
    text += key.name + " = " + toml_text(*value) + "\n";
  }
  return text;
}

}  // namespace tandem::config
