#include "config/toml_document.h"

#include <toml++/toml.h>

#include <algorithm>
#include <utility>

#include "config/job_reader.h"

namespace tandem::config {
namespace {

std::optional<Value> integers_of(const toml::array& array) {
  std::vector<std::int64_t> integers;
  for (const toml::node& element : array) {
    if (!element.is_integer()) return std::nullopt;
    integers.push_back(element.as_integer()->get());
  }
  return integers;
}

std::optional<Value> value_of(const toml::node& node) {
  if (const auto* flag = node.as_boolean()) return flag->get();
  if (const auto* integer = node.as_integer()) return integer->get();
  if (const auto* number = node.as_floating_point()) return number->get();
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* array = node.as_array()) return integers_of(*array);
  return std::nullopt;
}

/// What a node is, without a look inside of tables and lists.
std::string form_of(const toml::node& node) {
  if (node.is_table()) return "a table";
  if (node.is_array()) return "a list";
  const std::optional<Value> value = value_of(node);
  return value ? described(*value) : "a date or time";
}

std::string description_of(const toml::array& array) {
  if (array.is_homogeneous(toml::node_type::table)) return "an array of tables";
  const auto odd = std::find_if(array.begin(), array.end(), [](const auto& element) { return !element.is_integer(); });
  return "a list whose element " + std::to_string(odd - array.begin() + 1) + " is " + form_of(*odd);
}

Found found_in(const toml::node& node) {
  const std::optional<Value> value = value_of(node);
  if (value) return {value, described(*value)};
  return {std::nullopt, node.is_array() ? description_of(*node.as_array()) : form_of(node)};
}

/// Settings with their place in the text, to sort by: toml++ keeps keys in alphabetical order.
struct Placed {
  toml::source_position position;
  Setting setting;
};

class Collector {
 public:
  explicit Collector(const std::string& origin) : origin_(origin) {}

  void add_document(const toml::table& document) {
    for (const auto& [key, node] : document) {
      if (const auto* table = node.as_table()) {
        add(key, std::string(key.str()), std::nullopt, node);
        for (const auto& [inner, inner_node] : *table) {
          add(inner, std::string(key.str()), std::string(inner.str()), inner_node);
        }
      } else {
        add(key, std::nullopt, std::string(key.str()), node);
      }
    }
  }

  std::vector<Setting> in_order() && {
    std::stable_sort(placed_.begin(), placed_.end(),
                     [](const Placed& a, const Placed& b) { return a.position < b.position; });
    std::vector<Setting> settings;
    for (Placed& placed : placed_) settings.push_back(std::move(placed.setting));
    return settings;
  }

 private:
  void add(const toml::key& key, std::optional<std::string> table, std::optional<std::string> name,
           const toml::node& node) {
    const toml::source_position begin = key.source().begin;
    std::string where = origin_ + ":" + std::to_string(begin.line) + ":" + std::to_string(begin.column);
    placed_.push_back({begin, {std::move(where), std::move(table), std::move(name), found_in(node)}});
  }

  std::string origin_;
  std::vector<Placed> placed_;
};

}  // namespace

std::vector<Setting> read_document(std::string_view text, const std::string& origin) {
  if (text.size() > kLongestDocument) {
    throw JobError(origin + ": found more than " + std::to_string(kLongestDocument) +
                   " bytes; allowed: a job file of at most so many");
  }
  try {
    Collector collector(origin);
    collector.add_document(toml::parse(text));
    return std::move(collector).in_order();
  } catch (const toml::parse_error& error) {
    const toml::source_position begin = error.source().begin;
    throw JobError(origin + ":" + std::to_string(begin.line) + ":" + std::to_string(begin.column) +
                   ": not valid TOML: " + std::string(error.description()));
  }
}

Found read_value(std::string_view text) {
  const Found not_a_value{std::nullopt, text.empty() ? "nothing" : printable(text) + ", which is not a TOML value"};
  const std::string key = "value";
  const std::string document = key + " = " + std::string(text);
  if (document.size() > kLongestDocument) return not_a_value;
  try {
    const toml::table table = toml::parse(std::string_view(document));
    // A line break in the text can start further keys.
    return table.size() == 1 ? found_in(*table.get(key)) : not_a_value;
  } catch (const toml::parse_error&) {
    return not_a_value;
  }
}

}  // namespace tandem::config
