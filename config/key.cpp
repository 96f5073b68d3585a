#include "config/key.h"

#include <algorithm>

namespace tandem::config {
namespace {

constexpr std::size_t kLongestFileName = 200;

bool in_range(const IntegerRange& range, std::int64_t value) { return value >= range.least && value <= range.most; }

/// False for NaN.
bool in_range(const NumberRange& range, double value) {
  return (range.least_excluded ? value > range.least : value >= range.least) &&
         (range.most_excluded ? value < range.most : value <= range.most);
}

bool in_range(const ListRange& range, const std::vector<std::int64_t>& values) {
  return in_range(IntegerRange{range.shortest, range.longest}, static_cast<std::int64_t>(values.size())) &&
         std::all_of(values.begin(), values.end(), [&](std::int64_t value) { return in_range(range.elements, value); });
}

bool is_file_name_character(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') || byte == '.' ||
         byte == '_' || byte == '-';
}

bool has_form(StringForm form, const std::string& text) {
  if (text.empty()) return false;
  if (form == StringForm::path) return std::none_of(text.begin(), text.end(), is_control);
  return text != "." && text != ".." && text.size() <= kLongestFileName &&
         std::all_of(text.begin(), text.end(), is_file_name_character);
}

bool allows(const Key& key, const Value& value) {
  const auto& words = key.field.words;
  if (key.field.type == Type::word) {
    return std::find(words.begin(), words.end(), std::get<std::string>(value)) != words.end();
  }
  if (const auto* range = std::get_if<IntegerRange>(&key.allowed))
    return in_range(*range, std::get<std::int64_t>(value));
  if (const auto* range = std::get_if<NumberRange>(&key.allowed)) return in_range(*range, std::get<double>(value));
  if (const auto* range = std::get_if<ListRange>(&key.allowed)) {
    return in_range(*range, std::get<std::vector<std::int64_t>>(value));
  }
  if (const auto* form = std::get_if<StringForm>(&key.allowed)) return has_form(*form, std::get<std::string>(value));
  return true;
}

bool has_type(Type type, const Value& value) {
  switch (type) {
    case Type::boolean:
      return std::holds_alternative<bool>(value);
    case Type::integer:
      return std::holds_alternative<std::int64_t>(value);
    case Type::number:
      return std::holds_alternative<double>(value);
    case Type::string:
    case Type::word:
      return std::holds_alternative<std::string>(value);
    case Type::integers:
      return std::holds_alternative<std::vector<std::int64_t>>(value);
  }
  return false;
}

std::string text_of(const IntegerRange& range) {
  return "from " + std::to_string(range.least) + " to " + std::to_string(range.most);
}

std::string text_of(const NumberRange& range) {
  return std::string(range.least_excluded ? "above " : "at least ") + toml_text(range.least) + " and " +
         (range.most_excluded ? "below " : "at most ") + toml_text(range.most);
}

std::string text_of(StringForm form) {
  if (form == StringForm::path) return "a path: not empty, no control characters";
  return "a name: 1 to " + std::to_string(kLongestFileName) +
         " letters, digits, '.', '_' or '-', but not \".\" or \"..\"";
}

}  // namespace

const char* type_name(Type type) {
  switch (type) {
    case Type::boolean:
      return "boolean";
    case Type::integer:
      return "integer";
    case Type::number:
      return "number";
    case Type::string:
    case Type::word:
      return "string";
    case Type::integers:
      return "list of integers";
  }
  return "";
}

std::string path(const Key& key) { return key.table + "." + key.name; }

std::string allowed_text(const Key& key) {
  if (key.field.type == Type::word) {
    std::vector<std::string> words;
    for (const std::string& word : key.field.words) words.push_back(in_quotes(word));
    return listed(words, "or");
  }
  if (const auto* range = std::get_if<IntegerRange>(&key.allowed)) return "an integer " + text_of(*range);
  if (const auto* range = std::get_if<NumberRange>(&key.allowed)) return "a number " + text_of(*range);
  if (const auto* range = std::get_if<ListRange>(&key.allowed)) {
    return "a list of " + std::to_string(range->shortest) + " to " + std::to_string(range->longest) +
           " integers, each " + text_of(range->elements);
  }
  if (const auto* form = std::get_if<StringForm>(&key.allowed)) return text_of(*form);
  return "true or false";
}

std::optional<Value> accepted(const Key& key, const Value& value) {
  const auto* integer = std::get_if<std::int64_t>(&value);
  if (key.field.type == Type::number && integer) return accepted(key, static_cast<double>(*integer));
  if (!has_type(key.field.type, value) || !allows(key, value)) return std::nullopt;
  return value;
}

std::string why_no_effect(const Key& key, const Job& job) {
  return key.effect.why_none ? key.effect.why_none(job) : "";
}

}  // namespace tandem::config
