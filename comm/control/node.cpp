#include "comm/control/node.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <random>
#include <thread>
#include <utility>

namespace tandem::comm::control {

NodeId random_node_id() {
  std::random_device source;
  const auto word = [&source] { return (std::uint64_t{source()} << 32) | source(); };
  const std::uint64_t high = word();
  return {high, word()};
}

std::string to_string(const NodeId& id) {
  std::array<char, 33> text{};
  std::snprintf(text.data(), text.size(), "%016llx%016llx", static_cast<unsigned long long>(id.high),
                static_cast<unsigned long long>(id.low));
  return text.data();
}

NodeInfo this_node(std::string version, std::string name, std::uint32_t devices) {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  return {.version = std::move(version),
          .host = host.data(),
          .name = name.empty() ? host.data() : std::move(name),
          .pid = ::getpid(),
          .cores = std::thread::hardware_concurrency(),
          .devices = devices,
          .memory = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                    static_cast<std::uint64_t>(::sysconf(_SC_PAGE_SIZE))};
}

std::string name_of(const NodeInfo& node) {
  const std::string pid = "pid " + std::to_string(node.pid) + ")";
  if (node.name.empty() || node.name == node.host) return "node " + node.host + " (" + pid;
  return "node " + node.name + " (host " + node.host + ", " + pid;
}

}  // namespace tandem::comm::control
