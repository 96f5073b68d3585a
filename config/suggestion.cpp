#include "config/suggestion.h"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include "config/schema.h"
#include "config/value.h"

namespace tandem::config {
namespace {

bool is_bare(const std::string& name) {
  return !name.empty() && name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") ==
                              std::string::npos;
}

/// A key or table from a file, which can be any text.
std::string shown(const std::string& name) { return printable(is_bare(name) ? name : in_quotes(name)); }

/// Longer names are no slips of the pen, and the distance takes time in the square of the length.
std::size_t distance_to_slip(const std::string& written, const std::string& known) {
  constexpr std::size_t kLongest = 100;
  return edit_distance(std::string_view(written).substr(0, kLongest), known);
}

std::string known_keys(const std::string& table) {
  std::vector<std::string> names;
  for (const Key& key : schema()) {
    if (key.table == table) names.push_back(key.name);
  }
  return "\n  keys of [" + table + "]: " + listed(names, "and");
}

std::vector<std::string> tables_with(const std::string& name) {
  std::vector<std::string> found;
  for (const Key& key : schema()) {
    if (key.name == name) found.push_back("[" + key.table + "]");
  }
  return found;
}

/// A similar key, whose letters are right but for a third, is looked for in every table; where there is none, the
/// nearest of the table it was written in comes first.
std::string nearest_key_hint(const std::optional<std::string>& table, const std::string& name) {
  const auto is_similar = [&](const Key& key) { return distance_to_slip(name, key.name) <= (key.name.size() + 2) / 3; };
  const auto rank = [&](const Key& key) {
    const bool elsewhere = key.table != table;
    return std::tuple(elsewhere && !is_similar(key), distance_to_slip(name, key.name), elsewhere);
  };
  const Key& nearest = *std::min_element(schema().begin(), schema().end(),
                                         [&](const Key& a, const Key& b) { return rank(a) < rank(b); });
  return (is_similar(nearest) ? "nearest known key: " : "nearest known key, though not similar: ") + path(nearest);
}

std::string nearest_table(const std::string& table) {
  const std::vector<std::string> known = tables();
  return *std::min_element(known.begin(), known.end(), [&](const std::string& a, const std::string& b) {
    return distance_to_slip(table, a) < distance_to_slip(table, b);
  });
}

std::string known_tables() { return "\n  known tables: " + listed(tables(), "and"); }

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> distance(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) distance[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) distance[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = distance[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      distance[i][j] = std::min({replaced, distance[i - 1][j] + 1, distance[i][j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) distance[i][j] = std::min(distance[i][j], distance[i - 2][j - 2] + 1);
    }
  }
  return distance[a.size()][b.size()];
}

std::string unknown_table_message(const std::string& table) {
  return "unknown table [" + shown(table) + "]\n  nearest known table: [" + nearest_table(table) + "]" + known_tables();
}

std::string unknown_key_message(const std::optional<std::string>& table, const std::string& name) {
  const std::vector<std::string> homes = tables_with(name);
  const std::string subject = table ? shown(*table) + "." + shown(name) : shown(name) + " outside of any table";
  const std::string hint =
      homes.empty() ? nearest_key_hint(table, name) : shown(name) + " belongs in " + listed(homes, "or");
  return "unknown key " + subject + "\n  " + hint + (table ? known_keys(*table) : known_tables());
}

std::string not_a_key_message(const std::string& table, const std::string& found) {
  return table + " is a table, not a key: found " + found + known_keys(table);
}

}  // namespace tandem::config
