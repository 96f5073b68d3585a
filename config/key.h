#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "config/job.h"
#include "config/value.h"

// What a key of the job file is. schema.h has the keys.
namespace tandem::config {

enum class Type { boolean, integer, number, string, word, integers };

/// "integer" and so on, as documentation says it.
const char* type_name(Type type);

/// A key's place in Job, and its form there.
struct Field {
  Type type;
  /// Type::word: the words there are.
  std::vector<std::string> words;
  /// Unset where the member is an optional without value.
  std::function<std::optional<Value>(const Job&)> get;
  /// The value is of this field's type.
  std::function<void(Job&, const Value&)> set;
};

/// Bounds are inclusive unless they say otherwise.
struct IntegerRange {
  std::int64_t least;
  std::int64_t most;
};
struct NumberRange {
  double least;
  double most;
  bool least_excluded = false;
  bool most_excluded = false;
};
struct ListRange {
  std::int64_t shortest;
  std::int64_t longest;
  IntegerRange elements;
};
enum class StringForm { path, file_name };

/// monostate: whatever the type allows.
using Allowed = std::variant<std::monostate, IntegerRange, NumberRange, ListRange, StringForm>;

/// What a key is worth where it is not given.
struct Default {
  /// For documentation, and for to_toml() where the member is an optional without value; empty: the value that Job{}
  /// has.
  std::string text = {};
  /// Sets it from keys earlier in the schema; empty: what Job{} has stays.
  std::function<void(Job&)> fill = {};
};

/// When a key has an effect.
struct Effect {
  /// For documentation: a sentence that begins with "Only"; empty: always.
  std::string when = {};
  /// Why the key has no effect in this job, to continue "KEY has no effect"; empty text: it has one. Reads no keys
  /// after its own in the schema.
  std::function<std::string(const Job&)> why_none = {};
};

struct Key {
  std::string table;
  std::string name;
  Field field;
  /// Empty: none.
  std::string unit = {};
  Allowed allowed = {};
  Default fallback = {};
  std::string meaning;
  Effect effect = {};
  /// What the member holds where the key has no effect; unset: what Job{} has. Giving a neutral value is never an
  /// error, since it says what is so.
  std::optional<Value> neutral = {};
  /// The key of the same table that this one's value is chosen for: where an override changes that, a value from the
  /// file is dropped. Empty: none.
  std::string chosen_for = {};
};

/// "topology.width"
std::string path(const Key& key);

/// What the key may hold, as errors and documentation say it.
std::string allowed_text(const Key& key);

/// `value` in the form of the key's type (an integer is taken as a number too), if it is allowed.
std::optional<Value> accepted(const Key& key, const Value& value);

/// Why the key has no effect in `job`; empty: it has one.
std::string why_no_effect(const Key& key, const Job& job);

namespace detail {

template <typename T>
inline constexpr bool kIsOptional = false;
template <typename T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

template <typename T>
constexpr Type type_of() {
  if constexpr (std::is_same_v<T, bool>) return Type::boolean;
  if constexpr (std::is_enum_v<T>) return Type::word;
  if constexpr (std::is_integral_v<T>) return Type::integer;
  if constexpr (std::is_floating_point_v<T>) return Type::number;
  if constexpr (std::is_same_v<T, std::string>) return Type::string;
  if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) return Type::integers;
}

/// The names of an enumeration's values.
template <typename Enum>
std::vector<std::string> words() {
  std::vector<std::string> names;
  while (const char* word = name(static_cast<Enum>(names.size()))) names.emplace_back(word);
  return names;
}

template <typename T>
Value to_value(const T& member) {
  if constexpr (std::is_enum_v<T>) {
    return std::string(name(member));
  } else if constexpr (type_of<T>() == Type::integer) {
    return static_cast<std::int64_t>(member);
  } else {
    return member;
  }
}

template <typename T>
T from_value(const Value& value) {
  if constexpr (std::is_enum_v<T>) {
    int index = 0;
    while (name(static_cast<T>(index)) != std::get<std::string>(value)) ++index;
    return static_cast<T>(index);
  } else if constexpr (type_of<T>() == Type::integer) {
    return static_cast<T>(std::get<std::int64_t>(value));
  } else {
    return std::get<T>(value);
  }
}

}  // namespace detail

/// The field of a member of one of Job's sections; its type follows from the member's.
template <typename Section, typename Member>
Field field(Section Job::*section, Member Section::*member) {
  if constexpr (detail::kIsOptional<Member>) {
    using T = typename Member::value_type;
    return {detail::type_of<T>(),
            {},
            [=](const Job& job) -> std::optional<Value> {
              const Member& held = job.*section.*member;
              return held ? std::optional(detail::to_value(*held)) : std::nullopt;
            },
            [=](Job& job, const Value& value) { job.*section.*member = detail::from_value<T>(value); }};
  } else {
    std::vector<std::string> words;
    if constexpr (std::is_enum_v<Member>) words = detail::words<Member>();
    return {detail::type_of<Member>(), std::move(words),
            [=](const Job& job) -> std::optional<Value> { return detail::to_value(job.*section.*member); },
            [=](Job& job, const Value& value) { job.*section.*member = detail::from_value<Member>(value); }};
  }
}

}  // namespace tandem::config
