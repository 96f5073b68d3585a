#pragma once

#include <cstddef>
#include <string>
#include <string_view>

// Texts of the wire format: UTF-8 without control characters, at most `longest_text` bytes. What comes from another
// process is printed and logged, and must not be able to move a cursor, fake a line, or break a file of JSON.
namespace tandem::comm::control {

inline constexpr std::size_t longest_text = 1000;

bool is_text(std::string_view bytes);

/// `bytes` with a question mark for each byte that no text has, cut before the character that would exceed the limit.
std::string to_text(std::string_view bytes);

}  // namespace tandem::comm::control
