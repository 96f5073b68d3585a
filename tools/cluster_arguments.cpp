#include "tools/cluster_arguments.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <net/if.h>

#include <charconv>
#include <cstdint>
#include <filesystem>
#include <string_view>

#include "comm/control/text.h"
#include "comm/endpoint.h"
#include "config/job_reader.h"
#include "config/value.h"
#include "tools/local_nodes.h"

namespace tandem::tools {
namespace {

// `wildcard`: 0 and * stand for any port that is free.
bool is_port(std::string_view text, bool wildcard) {
  if (wildcard && text == "*") return true;
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && (wildcard || port != 0);
}

std::string check_endpoint(const std::string& text, bool wildcard) {
  const std::string port = text.substr(text.rfind(':') + 1);
  if (!comm::host_of(text).empty() && is_port(port, wildcard)) return "";
  return text + " is no endpoint; allowed: tcp://HOST:PORT, as tcp://10.0.0.1:7070, with a port from 1 to 65535";
}

std::string check_driver(const std::string& text) { return check_endpoint(text, false); }

std::string check_name(const std::string& text) {
  if (!text.empty() && comm::control::is_text(text)) return "";
  return fmt::format("{} is no name; allowed: 1 to {} bytes of UTF-8 without control characters",
                     config::in_quotes(comm::control::to_text(text)), comm::control::longest_text);
}

bool is_address(const std::string& text) {
  in6_addr address;
  return inet_pton(AF_INET, text.c_str(), &address) == 1 || inet_pton(AF_INET6, text.c_str(), &address) == 1;
}

// A host's name may mean 127.0.1.1 on the host itself, as on Debian, where no other could reach it.
std::string check_listen(const std::string& text) {
  const std::string flaw = check_endpoint(text, true);
  if (!flaw.empty()) return flaw;
  const std::string host = comm::host_of(text);
  if (host == "*" || is_address(host) || if_nametoindex(host.c_str()) != 0) return "";
  return fmt::format("{}: {} is no place to listen at; allowed: an address or an interface of this host, or *", text,
                     host);
}

// The devices that the NVIDIA driver has made.
std::uint32_t gpu_count() {
  std::uint32_t count = 0;
  while (std::filesystem::exists(fmt::format("/dev/nvidia{}", count))) ++count;
  return count;
}

void check_together(const std::string& a, const char* a_name, const std::string& b, const char* b_name) {
  if (a.empty() == b.empty()) return;
  throw config::JobError(fmt::format("{} is given without {}: each needs the other", a.empty() ? b_name : a_name,
                                     a.empty() ? a_name : b_name));
}

}  // namespace

void ClusterArguments::add_to(CLI::App& command) {
  auto* wanted = command.add_option("--nodes", nodes, "drive a run on so many nodes, that join with `tandem node`")
                     ->check(CLI::Range(1, 64));
  auto* address =
      command.add_option("--listen", listen, "where nodes are waited for, as tcp://10.0.0.1:7070")->check(check_listen);
  wanted->needs(address);
  address->needs(wanted);
  command
      .add_option("--local-nodes", local_nodes,
                  "drive a run on so many nodes that are processes of this machine, started and ended by this one")
      ->check(CLI::Range(1, 64))
      ->excludes(wanted)
      ->excludes(address);
  command.add_option("--key", key_file, "the driver's secret key (tandem keygen)")->needs(address);
  command.add_option("--accept", accept_file, "a file of the public keys of the nodes that may join")->needs(address);
  command
      .add_flag("--insecure", insecure, "listen beyond this machine without keys: whoever reaches the port may join")
      ->needs(address);
}

actors::DriverPlace ClusterArguments::place() const {
  actors::DriverPlace place;
  place.version = TANDEM_VERSION;
  if (local_nodes) {
    place.nodes = *local_nodes;
    place.endpoint = "tcp://127.0.0.1:0";
    for (int node = 0; node < place.nodes; ++node) place.names.push_back(LocalNodes::name(node));
    return place;
  }
  place.nodes = *nodes;
  place.endpoint = listen;
  check_together(key_file, "--key", accept_file, "--accept");
  if (key_file.empty()) {
    if (insecure || comm::is_loopback(comm::host_of(listen))) return place;
    throw config::JobError(
        "--listen " + listen +
        " without keys would let anybody in who reaches the port. Make keys with\n"
        "  tandem keygen driver.key      (once, here)\n"
        "  tandem keygen node.key        (once a node; collect the .pub files in one, say nodes.pub)\n"
        "and add --key driver.key --accept nodes.pub here and --key node.key --driver-key driver.key.pub at the nodes; "
        "or, on a network that is trusted, add --insecure");
  }
  place.key = comm::read_key_pair(key_file);
  place.accepted = comm::read_public_keys(accept_file);
  return place;
}

void NodeArguments::add_to(CLI::App& command) {
  command.add_option("driver", driver, "where the driver listens; also from the environment, TANDEM_DRIVER")
      ->type_name("tcp://HOST:PORT")
      ->envname("TANDEM_DRIVER")
      ->check(check_driver)
      ->required();
  command.add_option("--name", name, "what this node is called; the host's name if not given")->check(check_name);
  command.add_option("--cores", cores, "how many cores its workers share; all of them if not given")
      ->check(CLI::Range(1, 1024));
  command.add_option("--wait", wait, "how long the driver is tried for, in seconds")
      ->check(CLI::Range(0.0, 86400.0))
      ->capture_default_str();
  command.add_option("--key", key_file, "this node's secret key (tandem keygen)");
  command.add_option("--driver-key", driver_key_file, "a file with the driver's public key");
  command.add_flag("--quiet", quiet, "say nothing that the driver says as well");
  // For who starts nodes as its own processes; not for people.
  command.add_option("--parent", parent)->group("");
}

actors::NodePlace NodeArguments::place() const {
  actors::NodePlace place;
  place.driver = driver;
  place.self = comm::control::this_node(TANDEM_VERSION, name, gpu_count());
  if (cores) place.self.cores = static_cast<std::uint32_t>(*cores);
  place.join_limit = scheduler::from_seconds(wait);
  check_together(key_file, "--key", driver_key_file, "--driver-key");
  if (key_file.empty()) return place;
  place.key = comm::read_key_pair(key_file);
  place.driver_key = comm::read_public_keys(driver_key_file).front();
  return place;
}

}  // namespace tandem::tools
