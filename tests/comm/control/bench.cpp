// Times messages between a driver and a node in this process, over loopback: usage: control_bench [ROUNDS]
// Prints a JSON line for each size: how long a message and its answer take, both given by the listeners.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <vector>

#include "comm/control/recorder.h"

namespace tandem::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int warm_up = 200;

/// Answers each message with the next until there were enough.
struct PingPong : ClientRecorder {
  void on_message(Message message) override {
    const auto now = Clock::now();
    microseconds.push_back(std::chrono::duration<double, std::micro>(now - sent).count());
    if (static_cast<int>(microseconds.size()) == rounds) return done.set_value();
    sent = Clock::now();
    client->send(std::move(message));
  }

  control::ControlClient* client = nullptr;
  int rounds = 0;
  Clock::time_point sent;
  std::vector<double> microseconds;
  std::promise<void> done;
};

void time_messages(std::size_t size, int rounds) {
  ServerRecorder at_driver;
  control::ControlServer server(server_options(), at_driver);
  at_driver.answer = [&](const auto& node, const auto& message) { server.send(node, message); };
  PingPong at_node;
  at_node.rounds = rounds + warm_up;
  control::ControlClient client(client_options(server.endpoint()), at_node);
  at_node.client = &client;
  if (!at_node.wait_joined()) std::exit(1);
  at_node.sent = Clock::now();
  client.send(std::vector<std::byte>(size));
  at_node.done.get_future().wait();
  std::vector<double>& times = at_node.microseconds;
  times.erase(times.begin(), times.begin() + warm_up);
  std::ranges::sort(times);
  std::printf("{\"bytes\": %zu, \"rounds\": %d, \"min_us\": %.1f, \"median_us\": %.1f, \"p99_us\": %.1f}\n", size,
              rounds, times.front(), times[times.size() / 2], times[times.size() * 99 / 100]);
}

}  // namespace
}  // namespace tandem::test

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 10'000;
  if (rounds < 1) {
    std::fputs("usage: control_bench [ROUNDS]\n", stderr);
    return 2;
  }
  for (const std::size_t size : {std::size_t{0}, std::size_t{100}, std::size_t{10'000}}) {
    tandem::test::time_messages(size, rounds);
  }
}
