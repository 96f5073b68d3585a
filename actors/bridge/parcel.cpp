#include "actors/bridge/parcel.h"

#include <fmt/format.h>

#include <stdexcept>
#include <tuple>
#include <utility>

namespace tandem::actors {
namespace {

void check(const caf::error& error, const char* what) {
  if (error) throw std::runtime_error(what);
}

// Calls `visit` with the number of each message of the list, and an object of it, until one returns true.
template <class Messages, class Visit>
bool any_of(Visit visit) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return (visit(static_cast<std::uint16_t>(I), std::tuple_element_t<I, Messages>{}) || ...);
  }
  (std::make_index_sequence<std::tuple_size_v<Messages>>());
}

}  // namespace

template <class Messages>
std::optional<std::vector<std::byte>> pack(const Parcel& parcel, caf::execution_unit& context) {
  std::vector<char> bytes;
  const bool known = any_of<Messages>([&]<class Message>(std::uint16_t number, Message) {
    if (!parcel.content.match_elements<Message>()) return false;
    caf::binary_serializer sink(&context, bytes);
    Message message = parcel.content.get_as<Message>(0);
    check(sink(parcel.receiver, parcel.sender, number, message), "a message cannot be put into bytes");
    return true;
  });
  if (!known) return std::nullopt;
  const auto raw = std::as_bytes(std::span(bytes));
  return std::vector<std::byte>(raw.begin(), raw.end());
}

template <class Messages>
Parcel unpack(std::span<const std::byte> bytes, caf::execution_unit& context) {
  caf::binary_deserializer source(&context, reinterpret_cast<const char*>(bytes.data()), bytes.size());
  Parcel parcel;
  std::uint16_t wanted = 0;
  check(source(parcel.receiver, parcel.sender, wanted), "a message that is cut short");
  const bool known = any_of<Messages>([&]<class Message>(std::uint16_t number, Message message) {
    if (number != wanted) return false;
    check(source(message), "a message that is cut short or malformed");
    parcel.content = caf::make_message(std::move(message));
    return true;
  });
  if (!known) throw std::runtime_error(fmt::format("a message with number {}, which is none", wanted));
  if (source.remaining() > 0) throw std::runtime_error("a message with bytes after its end");
  return parcel;
}

template std::optional<std::vector<std::byte>> pack<MessagesToNode>(const Parcel&, caf::execution_unit&);
template std::optional<std::vector<std::byte>> pack<MessagesToDriver>(const Parcel&, caf::execution_unit&);
template Parcel unpack<MessagesToNode>(std::span<const std::byte>, caf::execution_unit&);
template Parcel unpack<MessagesToDriver>(std::span<const std::byte>, caf::execution_unit&);

}  // namespace tandem::actors
