#pragma once

#include <string>

// "tcp://HOST:PORT", where HOST may be an IPv6 address in brackets.
namespace tandem::actors {

/// Its HOST, without brackets.
std::string host_of(const std::string& endpoint);

/// Whether that address, as text, is one by which a host reaches itself alone.
bool is_loopback(const std::string& address);

}  // namespace tandem::actors
