#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tandem::config {

/// Every form that a key's value takes in the job file.
using Value = std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>>;

/// `value` as TOML. A finite number reads back as the same bits.
std::string toml_text(const Value& value);

/// `value` with its type, as errors say it: `the string "2"`.
std::string described(const Value& value);

/// Of ASCII; false within other UTF-8 letters.
bool is_control(char byte);

/// `text` with control characters escaped and a long end cut off, fit for one line of an error.
std::string printable(std::string_view text);

/// `text` as a TOML basic string.
std::string in_quotes(std::string_view text);

/// "a, b and c" with `last` = "and".
std::string listed(const std::vector<std::string>& items, const std::string& last);

}  // namespace tandem::config
