#pragma once

#include <map>
#include <string>
#include <vector>

#include "comm/control/node.h"

namespace tandem::comm::control {

/// Of connections that end before the two sides have agreed: what to log of them, once in ten minutes for each address.
///
/// A node that tries again and again fails in several ways, by chance: at times the connection is gone before it is
/// known from where it was, or why it failed. So what is vague is kept for a while, and forgotten if something definite
/// comes from there. Memory is bounded. Owner only; `now` never decreases.
class HandshakeFailures {
 public:
  /// How long something definite is waited for.
  static constexpr Time patience = std::chrono::seconds(2);

  /// `address` is empty if it is not known; `definite` says that `why` is a cause and not just the end. Returns what to
  /// log now; empty if nothing.
  std::string add(const std::string& address, const std::string& why, bool definite, Time now);

  /// What has been kept long enough, to be logged now.
  std::vector<std::string> due(Time now);

 private:
  struct Vague {
    std::string why;
    Time since;
  };

  std::map<std::string, Time> told_;    // when, by address
  std::map<std::string, Vague> vague_;  // by address
};

}  // namespace tandem::comm::control
