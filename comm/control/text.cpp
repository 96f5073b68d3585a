#include "comm/control/text.h"

#include <array>
#include <cstdint>

namespace tandem::comm::control {
namespace {

/// Bytes of the character that `text`, which is not empty, begins with; 0 if that is none that a text may have.
std::size_t character_size(std::string_view text) {
  const auto byte = [text](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return first < 0x20 || first == 0x7f ? 0 : 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  const std::size_t size = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (text.size() < size) return 0;
  std::uint32_t code = first & (0xffU >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3fU);
  }
  // Below these a code has a shorter form, or is a control character (U+0080 to U+009F).
  constexpr std::array<std::uint32_t, 5> smallest = {0, 0, 0xa0, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  return code < smallest[size] || code > 0x10ffff || surrogate ? 0 : size;
}

}  // namespace

bool is_text(std::string_view bytes) {
  if (bytes.size() > longest_text) return false;
  while (!bytes.empty()) {
    const std::size_t size = character_size(bytes);
    if (size == 0) return false;
    bytes.remove_prefix(size);
  }
  return true;
}

std::string to_text(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const std::size_t size = character_size(bytes);
    const std::string_view character = size == 0 ? "?" : bytes.substr(0, size);
    if (text.size() + character.size() > longest_text) break;
    text += character;
    bytes.remove_prefix(size == 0 ? 1 : size);
  }
  return text;
}

}  // namespace tandem::comm::control
