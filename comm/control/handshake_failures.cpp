#include "comm/control/handshake_failures.h"

namespace tandem::comm::control {
namespace {

constexpr Time told_interval = std::chrono::minutes(10);
constexpr std::size_t most_addresses = 100;

std::string line_of(const std::string& address, const std::string& why) {
  return (address.empty() ? "somebody" : "somebody at " + address) + " is refused: " + why;
}

}  // namespace

std::string HandshakeFailures::add(const std::string& address, const std::string& why, bool definite, Time now) {
  std::erase_if(told_, [&](const auto& entry) { return now - entry.second >= told_interval; });
  if (told_.contains(address) || (address.empty() && !told_.empty()) || told_.size() >= most_addresses) return "";
  if (!definite || address.empty()) {
    if (vague_.size() < most_addresses) vague_.try_emplace(address, Vague{why, now});
    return "";
  }
  vague_.erase(address);
  vague_.erase("");
  told_.emplace(address, now);
  return line_of(address, why);
}

std::vector<std::string> HandshakeFailures::due(Time now) {
  std::vector<std::string> lines;
  std::erase_if(vague_, [&](const auto& entry) {
    const auto& [address, vague] = entry;
    if (now - vague.since < patience) return false;
    told_.emplace(address, now);
    lines.push_back(line_of(address, vague.why));
    return true;
  });
  return lines;
}

}  // namespace tandem::comm::control
