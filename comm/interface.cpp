#include "comm/interface.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <vector>

namespace tandem::comm {
namespace {

class Socket {
 public:
  Socket(int family, int type) : descriptor_(::socket(family, type | SOCK_CLOEXEC, 0)) {
    if (descriptor_ == -1) throw std::system_error(errno, std::generic_category(), "cannot make a socket");
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() { ::close(descriptor_); }

  int descriptor() const { return descriptor_; }

 private:
  const int descriptor_;
};

using AddressList = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

AddressList look_up(const std::string& host) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  // Any port will do: to connect a datagram socket sends nothing.
  if (const int error = ::getaddrinfo(host.c_str(), "9", &hints, &found); error != 0) {
    throw std::runtime_error("host \"" + host + "\" is not known: " + ::gai_strerror(error));
  }
  return {found, &::freeaddrinfo};
}

struct InterfaceAddress {
  std::string interface;
  std::string address;
  int family;
};

/// Those that another host can use as they are.
bool is_usable(const sockaddr* address) {
  if (address == nullptr) return false;
  if (address->sa_family == AF_INET) return true;
  return address->sa_family == AF_INET6 &&
         !IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
}

std::vector<InterfaceAddress> interface_addresses() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) {
    throw std::system_error(errno, std::generic_category(), "cannot list the network interfaces");
  }
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, &::freeifaddrs);
  std::vector<InterfaceAddress> addresses;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if ((entry->ifa_flags & IFF_UP) == 0 || !is_usable(entry->ifa_addr)) continue;
    addresses.push_back({entry->ifa_name, address_in(*entry->ifa_addr), entry->ifa_addr->sa_family});
  }
  return addresses;
}

}  // namespace

std::string address_of_host(const std::string& host) {
  const AddressList found = look_up(host);
  for (const addrinfo* address = found.get(); address != nullptr; address = address->ai_next) {
    if (address->ai_family == AF_INET) return address_in(*address->ai_addr);
  }
  return address_in(*found->ai_addr);
}

std::string local_address_towards(const std::string& host) {
  const AddressList candidates = look_up(host);
  int error = 0;
  for (const addrinfo* candidate = candidates.get(); candidate != nullptr; candidate = candidate->ai_next) {
    const Socket socket(candidate->ai_family, SOCK_DGRAM);
    sockaddr_storage own{};
    socklen_t size = sizeof(own);
    auto* const own_address = reinterpret_cast<sockaddr*>(&own);
    if (::connect(socket.descriptor(), candidate->ai_addr, candidate->ai_addrlen) == 0 &&
        ::getsockname(socket.descriptor(), own_address, &size) == 0) {
      return address_in(*own_address);
    }
    error = errno;
  }
  throw std::system_error(error, std::generic_category(), "no route leads to host \"" + host + "\"");
}

std::string address_of_interface(const std::string& interface) {
  const std::vector<InterfaceAddress> addresses = interface_addresses();
  for (const int family : {AF_INET, AF_INET6}) {
    for (const InterfaceAddress& candidate : addresses) {
      if (candidate.interface == interface && candidate.family == family) return candidate.address;
    }
  }
  std::string there_are;
  for (const InterfaceAddress& other : addresses) {
    there_are += (there_are.empty() ? "" : ", ") + other.interface + " (" + other.address + ")";
  }
  throw std::invalid_argument("there is no interface \"" + interface +
                              "\" with an address; there are: " + (there_are.empty() ? "none" : there_are));
}

std::string address_in(const sockaddr& socket_address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (socket_address.sa_family == AF_INET) {
    const auto& address = reinterpret_cast<const sockaddr_in&>(socket_address);
    ::inet_ntop(AF_INET, &address.sin_addr, text.data(), text.size());
  } else if (socket_address.sa_family == AF_INET6) {
    const auto& address = reinterpret_cast<const sockaddr_in6&>(socket_address);
    ::inet_ntop(AF_INET6, &address.sin6_addr, text.data(), text.size());
  }
  return text.data();
}

}  // namespace tandem::comm
