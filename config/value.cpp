#include "config/value.h"

#include <array>
#include <charconv>
#include <cstdio>

namespace tandem::config {
namespace {

template <typename... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <typename... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

/// 1e-8, where to_chars() writes 1e-08.
std::string text_of(double number) {
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr;
  const std::string text(buffer.data(), end);
  const bool whole = text.find_first_not_of("-0123456789") == std::string::npos;
  if (whole) return text + ".0";
  const std::size_t exponent = text.find('e') + 1;
  return exponent == 0 ? text : text.substr(0, exponent) + std::to_string(std::stoi(text.substr(exponent)));
}

std::string text_of(const std::vector<std::int64_t>& integers) {
  std::string text = "[";
  for (const std::int64_t integer : integers) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(integer);
  }
  return text + "]";
}

/// Of a control character.
std::string escaped(char byte) {
  std::array<char, 8> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "\\u%04X", byte);
  return buffer.data();
}

}  // namespace

std::string toml_text(const Value& value) {
  return std::visit(
      Overloaded{[](bool flag) -> std::string { return flag ? "true" : "false"; },
                 [](std::int64_t integer) { return std::to_string(integer); },
                 [](double number) { return text_of(number); }, [](const std::string& text) { return in_quotes(text); },
                 [](const std::vector<std::int64_t>& integers) { return text_of(integers); }},
      value);
}

std::string described(const Value& value) {
  constexpr std::array kTypes{"the boolean ", "the integer ", "the number ", "the string ", "the list "};
  return kTypes[value.index()] + printable(toml_text(value));
}

bool is_control(char byte) { return (byte >= 0 && byte < 0x20) || byte == 0x7f; }

std::string printable(std::string_view text) {
  constexpr std::size_t kLongest = 80;
  std::string result;
  for (const char byte : text.substr(0, kLongest)) {
    result += is_control(byte) ? escaped(byte) : std::string(1, byte);
  }
  return text.size() > kLongest ? result + "..." : result;
}

std::string in_quotes(std::string_view text) {
  std::string result = "\"";
  for (const char byte : text) {
    if (is_control(byte)) {
      result += escaped(byte);
    } else {
      if (byte == '"' || byte == '\\') result += '\\';
      result += byte;
    }
  }
  return result + "\"";
}

std::string listed(const std::vector<std::string>& items, const std::string& last) {
  std::string result;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) result += i + 1 == items.size() ? " " + last + " " : ", ";
    result += items[i];
  }
  return result;
}

}  // namespace tandem::config
