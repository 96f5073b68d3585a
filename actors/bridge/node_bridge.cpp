#include "actors/bridge/node_bridge.h"

#include <utility>

namespace tandem::actors {

NodeBridge::NodeBridge(caf::actor_system& system, const comm::control::ClientOptions& options, caf::actor node,
                       Joined joined)
    : system_(system),
      node_(std::move(node)),
      joined_(std::move(joined)),
      driver_(system, [this](Parcel parcel) { dispatch(std::move(parcel)); }),
      client_(new comm::control::ControlClient(options, *this)) {
  made_.count_down();
}

NodeBridge::~NodeBridge() {
  client_->close();
  driver_.end();
}

void NodeBridge::on_message(std::vector<std::byte> message) {
  try {
    driver_.deliver<MessagesToNode>(message, node_);
  } catch (const std::exception& error) {
    lose(std::string("the driver sent what this program does not know: ") + error.what());
  }
}

// From the thread of whoever sends.
void NodeBridge::dispatch(Parcel parcel) {
  made_.wait();
  try {
    to_drivers_time(parcel.content);
    if (auto bytes = bytes_of<MessagesToDriver>(system_, parcel)) client_->send(std::move(*bytes));
  } catch (const comm::control::GoneError&) {
    // The node is told that the driver is lost.
  } catch (const std::exception& error) {
    lose(error.what());
  }
}

// Spans of all hosts go into one timeline, which is in the driver's time.
void NodeBridge::to_drivers_time(caf::message& content) const {
  const auto offset = client_->offset();
  if (!offset || !content.match_elements<Spans>()) return;
  for (SpanRecord& span : content.get_mutable_as<Spans>(0).spans) {
    span.begin_ns += offset->ahead.count();
    span.end_ns += offset->ahead.count();
  }
}

void NodeBridge::lose(const std::string& reason) { caf::anon_send(node_, DriverLost{reason}); }

}  // namespace tandem::actors
