#pragma once

#include <zmq.hpp>

#include <set>
#include <string>
#include <vector>

namespace tandem::comm::zeromq {

/// Decides, for one ZeroMQ context, whose CURVE key may connect (ZAP, RFC 27). To be made before the sockets of that
/// context are bound. Owner only.
class ZapHandler {
 public:
  /// Accepts no key yet.
  explicit ZapHandler(zmq::context_t& context);

  /// From now on these keys, too; in Z85.
  void accept(const std::vector<std::string>& keys);

  /// Answers all requests that have come. Returns for each that was refused who asked. Messages of a connection have
  /// its key as their property "User-Id".
  std::vector<std::string> answer();

  zmq::socket_t& socket() { return requests_; }

 private:
  std::set<std::string> accepted_;
  zmq::socket_t requests_;
};

}  // namespace tandem::comm::zeromq
