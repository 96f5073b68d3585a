#include "config/override.h"

#include "config/job_reader.h"
#include "config/schema.h"

namespace tandem::config {
namespace {

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

bool is_plain_text(const Key* key, const std::string& value) {
  const bool takes_text = key && (key->field.type == Type::string || key->field.type == Type::word);
  return takes_text && !value.starts_with('"') && !value.starts_with('\'');
}

}  // namespace

Setting read_override(const std::string& text) {
  const std::string where = "--set " + printable(text);
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) throw JobError(where + ": found no '='; allowed: KEY=VALUE, as in topology.width=3");
  const std::string dotted = trimmed(text.substr(0, equals));
  const std::string value = trimmed(text.substr(equals + 1));
  const std::size_t dot = dotted.find('.');
  if (dot == std::string::npos) return {where, std::nullopt, dotted, read_value(value)};
  const std::string table = dotted.substr(0, dot);
  const std::string name = dotted.substr(dot + 1);
  const bool plain = is_plain_text(find_key(table, name), value);
  return {where, table, name, read_value(plain ? in_quotes(value) : value)};
}

}  // namespace tandem::config
