#pragma once

#include <string>

// Which of this host's addresses others are to reach it by. Addresses are text, as in "10.0.0.7" or "fd00::7". Safe
// from any thread; nothing is sent, but for what it takes to look up a name.
namespace tandem::comm {

/// The address that packets to `host`, a name or an address, leave with. The name of this host itself plays no part:
/// where it means 127.0.1.1, as on Debian, others could not reach it. Throws std::runtime_error if `host` is not known
/// or no route leads there.
std::string local_address_towards(const std::string& host);

/// The address of a network interface, such as "eth0": its first IPv4 address, else its first IPv6 address that is
/// valid beyond the link. Throws std::invalid_argument if it has none or is down, naming the interfaces there are, with
/// their addresses.
std::string address_of_interface(const std::string& interface);

}  // namespace tandem::comm
