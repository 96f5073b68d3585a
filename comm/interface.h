#pragma once

#include <string>

struct sockaddr;

// Addresses of other hosts, and which of this host's others are to reach it by. Addresses are text, as in "10.0.0.7" or
// "fd00::7". Safe from any thread; nothing is sent, but for what it takes to look up a name.
namespace tandem::comm {

/// The address of `host`, a name or an address: its first IPv4 address, else its first IPv6 address. Throws
/// std::runtime_error if it is not known.
std::string address_of_host(const std::string& host);

/// The address that packets to `host`, a name or an address, leave with. The name of this host itself plays no part:
/// where it means 127.0.1.1, as on Debian, others could not reach it. Throws std::runtime_error if `host` is not known
/// or no route leads there.
std::string local_address_towards(const std::string& host);

/// The address of a network interface, such as "eth0": its first IPv4 address, else its first IPv6 address that is
/// valid beyond the link. Throws std::invalid_argument if it has none or is down, naming the interfaces there are, with
/// their addresses.
std::string address_of_interface(const std::string& interface);

/// The address in a socket's address; empty if that is neither of IPv4 nor of IPv6.
std::string address_in(const sockaddr& socket_address);

}  // namespace tandem::comm
