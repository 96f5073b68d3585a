#pragma once

#include <zmq.hpp>

#include <set>
#include <string>
#include <vector>

namespace tandem::comm::control {

/// Decides, for one ZeroMQ context, whose CURVE key may connect (ZAP, RFC 27). To be made before the sockets of that
/// context are bound. Owner only.
class ZapHandler {
 public:
  /// `accepted` in Z85.
  ZapHandler(zmq::context_t& context, const std::vector<std::string>& accepted);

  /// Answers all requests that have come. Returns for each that was refused who asked.
  std::vector<std::string> answer();

  zmq::socket_t& socket() { return requests_; }

 private:
  const std::set<std::string> accepted_;
  zmq::socket_t requests_;
};

}  // namespace tandem::comm::control
