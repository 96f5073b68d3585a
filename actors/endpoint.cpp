#include "actors/endpoint.h"

namespace tandem::actors {

std::string host_of(const std::string& endpoint) {
  const std::size_t begin = endpoint.find("://") + 3;
  std::string host = endpoint.substr(begin, endpoint.rfind(':') - begin);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return host;
}

bool is_loopback(const std::string& address) { return address.starts_with("127.") || address == "::1"; }

}  // namespace tandem::actors
