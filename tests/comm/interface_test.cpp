#include "comm/interface.h"

#include <net/if.h>

#include <catch2/catch.hpp>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "comm/endpoint.h"

namespace tandem::comm::test {
namespace {

/// One of each interface that has one.
std::vector<std::string> addresses_of_this_host() {
  std::vector<std::string> addresses;
  const std::unique_ptr<struct if_nameindex, decltype(&::if_freenameindex)> list(::if_nameindex(), &::if_freenameindex);
  for (auto* entry = list.get(); entry != nullptr && entry->if_index != 0; ++entry) {
    try {
      addresses.push_back(address_of_interface(entry->if_name));
    } catch (const std::invalid_argument&) {
      // An interface that is down has none.
    }
  }
  return addresses;
}

}  // namespace

TEST_CASE("a host on this machine is reached with the address that it has itself") {
  REQUIRE(local_address_towards("127.0.0.1") == "127.0.0.1");
  REQUIRE(local_address_towards("localhost").find_first_of(".:") != std::string::npos);
}

TEST_CASE("an address of this host leads to itself, on whatever interface it is") {
  for (const std::string& address : addresses_of_this_host()) REQUIRE(local_address_towards(address) == address);
}

TEST_CASE("a host has an address, of IPv4 where it has one") {
  REQUIRE(address_of_host("127.0.0.1") == "127.0.0.1");
  REQUIRE(address_of_host("::1") == "::1");
  REQUIRE(address_of_host("localhost") == "127.0.0.1");
}

TEST_CASE("an endpoint has a host, for whose name its address can stand") {
  REQUIRE(host_of("tcp://driver:7070") == "driver");
  REQUIRE(host_of("tcp://[fd00::7]:7070") == "fd00::7");
  for (const std::string none : {"", "driver:7070", "tcp://driver", "tcp:", "nonsense"}) REQUIRE(host_of(none).empty());
  REQUIRE(with_address("tcp://localhost:7070") == "tcp://127.0.0.1:7070");
  for (const std::string same : {"tcp://10.0.0.7:7070", "tcp://[fd00::7]:7070", "nonsense"}) {
    REQUIRE(with_address(same) == same);
  }
  REQUIRE(endpoint_at("10.0.0.7", "7070") == "tcp://10.0.0.7:7070");
  REQUIRE(endpoint_at("fd00::7", "*") == "tcp://[fd00::7]:*");
  REQUIRE(has_ipv6_address("tcp://[fd00::7]:*"));
  REQUIRE_FALSE(has_ipv6_address("tcp://10.0.0.7:7070"));
}

TEST_CASE("a host that nobody knows is an error that names it") {
  REQUIRE_THROWS_WITH(address_of_host("no-such-host.invalid"), Catch::Contains("no-such-host.invalid"));
  REQUIRE_THROWS_WITH(with_address("tcp://no-such-host.invalid:1"), Catch::Contains("no-such-host.invalid"));
  REQUIRE_THROWS_WITH(local_address_towards("no-such-host.invalid"), Catch::Contains("no-such-host.invalid"));
}

TEST_CASE("an interface has its address") {
  REQUIRE(address_of_interface("lo") == "127.0.0.1");
  REQUIRE(!addresses_of_this_host().empty());
}

TEST_CASE("an interface that does not exist is an error that lists those that do, with their addresses") {
  for (const std::string missing : {"eth7", ""}) {
    REQUIRE_THROWS_AS(address_of_interface(missing), std::invalid_argument);
    REQUIRE_THROWS_WITH(address_of_interface(missing),
                        Catch::Contains("\"" + missing + "\"") && Catch::Contains("lo (127.0.0.1)"));
  }
}

}  // namespace tandem::comm::test
