#pragma once

#include <string>

// Endpoints of ZeroMQ: "tcp://HOST:PORT". HOST is a name or an address; one of IPv6 stands in brackets. Safe from any
// thread.
namespace tandem::comm {

/// HOST, without brackets; empty if `endpoint` is none.
std::string host_of(const std::string& endpoint);

/// That of this address, without brackets, and port.
std::string endpoint_at(const std::string& address, const std::string& port);

/// Whether that address, as text, is one by which a host reaches itself alone.
bool is_loopback(const std::string& address);

bool has_ipv6_address(const std::string& endpoint);

/// The endpoint with its host's address (address_of_host) in place of a name. Waits for the name service. Throws
/// std::runtime_error if the host is not known; what is no endpoint is returned as it is.
std::string with_address(const std::string& endpoint);

}  // namespace tandem::comm
