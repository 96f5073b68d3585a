#include "comm/control/delivery.h"

#include <utility>

namespace tandem::comm::control {
namespace {

std::size_t size_of(const Delivery::Message& message) { return message.size() + Delivery::message_overhead; }

}  // namespace

Delivery::Delivery(std::string peer, std::size_t backlog) : peer_(std::move(peer)), backlog_(backlog) {}

void Delivery::push(Message message) {
  const std::size_t bytes = size_of(message);
  if (kept_bytes_ + bytes > backlog_) {
    throw BacklogError("send to " + peer_ + ": it has not acknowledged " + std::to_string(kept_bytes_) + " bytes in " +
                       std::to_string(kept_.size()) + " messages, and with " + std::to_string(bytes) +
                       " more they would exceed the " + std::to_string(backlog_) + " that are allowed");
  }
  kept_.push_back(std::move(message));
  kept_bytes_ += bytes;
}

std::optional<Delivery::Numbered> Delivery::next_to_send() {
  if (under_way_ == kept_.size() || under_way_bytes_ >= most_under_way) return std::nullopt;
  const Message& message = kept_[under_way_];
  ++under_way_;
  under_way_bytes_ += size_of(message);
  return Numbered{sent(), message};
}

std::optional<std::string> Delivery::acknowledge(std::uint64_t sequence) {
  if (sequence > sent()) {
    return "acknowledged data " + std::to_string(sequence) + " where only " + std::to_string(sent()) + " were sent";
  }
  for (; acknowledged_ < sequence; ++acknowledged_, --under_way_) {
    kept_bytes_ -= size_of(kept_.front());
    under_way_bytes_ -= size_of(kept_.front());
    kept_.pop_front();
  }
  return std::nullopt;
}

std::optional<std::string> Delivery::resume(std::uint64_t sequence) {
  if (sequence < acknowledged_) {
    return "resumes after data " + std::to_string(sequence) + " where it had acknowledged data " +
           std::to_string(acknowledged_);
  }
  if (auto fault = acknowledge(sequence)) return fault;
  under_way_ = 0;
  under_way_bytes_ = 0;
  return std::nullopt;
}

Delivery::Arrival Delivery::arrive(std::uint64_t sequence) {
  if (sequence <= taken_) return Arrival::duplicate;
  if (sequence > taken_ + 1) return Arrival::gap;
  ++taken_;
  return Arrival::next;
}

std::string Delivery::gap_text(std::uint64_t sequence) const {
  return "data " + std::to_string(taken_ + 1) + " was due, data " + std::to_string(sequence) + " came";
}

std::string Delivery::loss_text(std::uint64_t sequence) const {
  return "data " + std::to_string(taken_ + 1) + " was due, up to data " + std::to_string(sequence) + " was sent";
}

}  // namespace tandem::comm::control
