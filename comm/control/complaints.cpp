#include "comm/control/complaints.h"

#include <utility>

namespace tandem::comm::control {

Complaints::Complaints(Time interval, std::size_t most) : interval_(interval), most_(most) {}

std::optional<std::string> Complaints::admit(const std::string& text, Time now) {
  forget_old(now);
  if (admitted_.contains(text) || admitted_.size() >= most_) {
    ++held_back_;
    return std::nullopt;
  }
  admitted_.emplace(text, now);
  if (held_back_ == 0) return text;
  return text + " (" + std::to_string(std::exchange(held_back_, 0)) + " such lines were left out before)";
}

void Complaints::forget_old(Time now) {
  std::erase_if(admitted_, [&](const auto& entry) { return now - entry.second >= interval_; });
}

}  // namespace tandem::comm::control
