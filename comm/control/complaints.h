#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "comm/control/node.h"

namespace tandem::comm::control {

/// Keeps a log readable whatever comes in from outside: of a complaint only the first is passed on, then none with the
/// same text for `interval`, and in an interval only the first `most` different ones. The first text that is passed on
/// after others were held back says how many. Memory is bounded by `most`. Owner only.
class Complaints {
 public:
  Complaints(Time interval, std::size_t most);

  /// What to log; unset if nothing.
  std::optional<std::string> admit(const std::string& text, Time now);

 private:
  void forget_old(Time now);

  const Time interval_;
  const std::size_t most_;
  std::map<std::string, Time> admitted_;
  std::size_t held_back_ = 0;
};

}  // namespace tandem::comm::control
