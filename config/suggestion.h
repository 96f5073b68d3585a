#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tandem::config {

/// Edits (insert, delete, replace or swap neighbours) that make one of the other.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The message for a table that the schema lacks, with the nearest one it has.
std::string unknown_table_message(const std::string& table);

/// The message for a key that the schema lacks: the tables that have a key of this name, else the nearest key, and
/// whether it is similar; then the keys of the table. `table` is unset for a key outside of any table.
std::string unknown_key_message(const std::optional<std::string>& table, const std::string& name);

/// The message where `found` stands in place of a table that the schema has.
std::string not_a_key_message(const std::string& table, const std::string& found);

}  // namespace tandem::config
