#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/value.h"

// TOML text in, plain settings out. Knows TOML and nothing of the keys of a job.
namespace tandem::config {

/// The longest document in bytes, far more than a job needs: toml++ destroys nested tables recursively, and dotted keys
/// nest as deeply as a text is long, which must not overflow a stack.
inline constexpr std::size_t kLongestDocument = 32 * 1024;

/// What stands where a value should.
struct Found {
  /// Unset where no key takes a value of this form: a table, a date, a list of anything but integers, no TOML at all.
  std::optional<Value> value;
  /// The same for errors: `the string "2"`.
  std::string description;
};

/// One key of a document or an override; or a table, so that an empty one is seen too.
struct Setting {
  /// "job.toml:3:1", or "--set topology.width=3".
  std::string where;
  /// Unset for a key outside of any table.
  std::optional<std::string> table;
  /// Unset for the table itself.
  std::optional<std::string> name;
  Found found;
};

/// The settings in the order of the text, each table before its keys. Throws JobError, with `origin`, line and column,
/// where the text is not TOML or longer than kLongestDocument.
std::vector<Setting> read_document(std::string_view text, const std::string& origin);

/// The TOML value that `text` is.
Found read_value(std::string_view text);

}  // namespace tandem::config
