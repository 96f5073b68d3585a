// A party in a process of its own, for a test to kill.
//   control_party node ENDPOINT   joins, echoes every message, and ends as the driver does: with status 0 after a
//                                 goodbye, 3 if the driver was lost, 4 if it refused
//   control_party driver FILES    may open so many files, prints its endpoint, and waits to be killed
//   control_party flood ENDPOINT COUNT   makes so many connections to 127.0.0.1, prints how many there are, and keeps
//   them
#include <unistd.h>

#include <cstdio>
#include <future>
#include <string>

#include "comm/control/control_client.h"
#include "comm/control/control_server.h"
#include "comm/control/tcp.h"

namespace {

using namespace tandem::comm::control;

struct Echo : ClientListener {
  void on_joined() override {}
  void on_message(std::vector<std::byte> message) override { client.get()->send(std::move(message)); }
  void on_left() override { end.set_value(0); }
  void on_lost(const std::string&) override { end.set_value(3); }
  void on_refused(const std::string&) override { end.set_value(4); }

  std::shared_future<ControlClient*> client;
  std::promise<int> end;
};

int be_node(const std::string& endpoint) {
  ClientOptions options;
  options.endpoint = endpoint;
  options.rules.version = "1.0";
  options.self = this_node("1.0");
  Echo echo;
  std::promise<ControlClient*> made;
  echo.client = made.get_future();
  std::future<int> end = echo.end.get_future();
  ControlClient client(options, echo);
  made.set_value(&client);
  return end.get();
}

struct Deaf : ServerListener {
  void on_joined(const NodeId&, const NodeInfo&, const std::string&) override {}
  void on_message(const NodeId&, std::vector<std::byte>) override {}
  void on_left(const NodeId&) override {}
  void on_lost(const NodeId&, const std::string&) override {}
  void on_refused(const std::string&) override {}
  void on_dropped(const std::string&) override {}
};

int be_driver(int files) {
  tandem::test::allow_files(files);
  ServerOptions options;
  options.endpoint = "tcp://127.0.0.1:0";
  options.rules.version = "1.0";
  Deaf deaf;
  const ControlServer server(options, deaf);
  std::printf("%s\n", server.endpoint().c_str());
  std::fflush(stdout);
  for (;;) ::pause();
}

int be_flood(const std::string& endpoint, std::size_t count) {
  tandem::test::allow_files(static_cast<int>(count) + 100);
  std::vector<tandem::test::Tcp> connections;
  while (connections.size() < count) {
    auto connection = tandem::test::Tcp::connected(endpoint);
    if (connection.file() < 0) break;
    connections.push_back(std::move(connection));
  }
  std::printf("%zu\n", connections.size());
  std::fflush(stdout);
  for (;;) ::pause();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "node") return be_node(argv[2]);
  if (argc == 3 && std::string(argv[1]) == "driver") return be_driver(std::stoi(argv[2]));
  if (argc == 4 && std::string(argv[1]) == "flood") return be_flood(argv[2], std::stoul(argv[3]));
  std::fputs("usage: control_party node ENDPOINT | driver FILES | flood ENDPOINT COUNT\n", stderr);
  return 2;
}
