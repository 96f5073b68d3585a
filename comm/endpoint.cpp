#include "comm/endpoint.h"

#include <cstddef>
#include <string_view>

#include "comm/interface.h"

namespace tandem::comm {
namespace {

constexpr std::string_view scheme = "tcp://";

}  // namespace

std::string host_of(const std::string& endpoint) {
  const std::size_t end = endpoint.rfind(':');
  if (!endpoint.starts_with(scheme) || end < scheme.size()) return "";
  const std::string host = endpoint.substr(scheme.size(), end - scheme.size());
  return host.starts_with('[') && host.ends_with(']') ? host.substr(1, host.size() - 2) : host;
}

std::string endpoint_at(const std::string& address, const std::string& port) {
  const bool is_ipv6 = address.find(':') != std::string::npos;
  return std::string(scheme) + (is_ipv6 ? "[" + address + "]" : address) + ":" + port;
}

bool is_loopback(const std::string& address) { return address.starts_with("127.") || address == "::1"; }

bool has_ipv6_address(const std::string& endpoint) { return endpoint.starts_with(std::string(scheme) + '['); }

std::string with_address(const std::string& endpoint) {
  const std::string host = host_of(endpoint);
  if (host.empty() || has_ipv6_address(endpoint)) return endpoint;
  return endpoint_at(address_of_host(host), endpoint.substr(endpoint.rfind(':') + 1));
}

}  // namespace tandem::comm
