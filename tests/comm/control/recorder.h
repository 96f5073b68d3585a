#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "comm/control/control_client.h"
#include "comm/control/control_server.h"

// Listeners that keep what they are told, and let a test wait for it.
namespace tandem::test {

using namespace std::chrono_literals;
namespace control = comm::control;

/// As good as no limit on any machine; a test that waits for so long has failed.
inline constexpr control::Time long_enough = 60s;

class Waiting {
 public:
  /// Whether `condition`, looked at under the listener's lock, has come to hold in time.
  template <typename Condition>
  bool wait(Condition condition, control::Time limit = long_enough) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, limit, condition);
  }

 protected:
  template <typename Change>
  void change(Change what) {
    {
      const std::scoped_lock lock(mutex_);
      what();
    }
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
};

struct ServerRecorder : control::ServerListener, Waiting {
  using Node = control::NodeId;
  using Message = std::vector<std::byte>;

  void on_joined(const Node& node, const control::NodeInfo& info, const std::string& key) override {
    change([&] {
      joined.emplace_back(node, info);
      keys.push_back(key);
    });
  }
  void on_message(const Node& node, Message message) override {
    if (answer) answer(node, message);
    change([&] { messages[node].push_back(std::move(message)); });
  }
  void on_left(const Node& node) override {
    change([&] { left.push_back(node); });
  }
  void on_lost(const Node&, const std::string& reason) override {
    change([&] { lost.push_back(reason); });
  }
  void on_refused(const std::string& reason) override {
    change([&] { refused.push_back(reason); });
  }
  void on_dropped(const std::string& what) override {
    change([&] { dropped.push_back(what); });
  }

  bool wait_joined(std::size_t count) {
    return wait([&] { return joined.size() >= count; });
  }
  bool wait_messages(std::size_t count) {
    return wait([&] { return messages.size() == 1 && messages.begin()->second.size() >= count; });
  }

  /// Called on the server's thread.
  std::function<void(const Node&, const Message&)> answer;
  std::vector<std::pair<Node, control::NodeInfo>> joined;
  std::vector<std::string> keys;  // of those joined
  std::map<Node, std::vector<Message>> messages;
  std::vector<Node> left;
  std::vector<std::string> lost, refused, dropped;
};

struct ClientRecorder : control::ClientListener, Waiting {
  using Message = std::vector<std::byte>;

  void on_joined() override {
    change([&] { joined = true; });
  }
  void on_message(Message message) override {
    change([&] { messages.push_back(std::move(message)); });
  }
  void on_left() override {
    change([&] { left = true; });
  }
  void on_lost(const std::string& reason) override {
    change([&] { lost = reason; });
  }
  void on_refused(const std::string& reason) override {
    change([&] { refused = reason; });
  }

  bool wait_joined() {
    return wait([&] { return joined || !refused.empty(); }) && joined;
  }
  bool wait_messages(std::size_t count) {
    return wait([&] { return messages.size() >= count; });
  }
  bool wait_refused() {
    return wait([&] { return !refused.empty(); });
  }
  bool wait_lost(control::Time limit = long_enough) {
    return wait([&] { return !lost.empty(); }, limit);
  }

  std::vector<Message> messages;
  bool joined = false, left = false;
  std::string lost, refused;
};

inline std::vector<std::byte> bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

inline std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline control::ServerOptions server_options() {
  control::ServerOptions options;
  options.endpoint = "tcp://127.0.0.1:0";
  options.rules.version = "1.0";
  return options;
}

inline control::ClientOptions client_options(const std::string& endpoint) {
  control::ClientOptions options;
  options.endpoint = endpoint;
  options.rules.version = "1.0";
  options.self = control::this_node("1.0");
  return options;
}

}  // namespace tandem::test
