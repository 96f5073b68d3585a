#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "comm/control/relay.h"
#include "comm/keys.h"
#include "comm/memory_store.h"
#include "comm/peer_group/card.h"
#include "comm/peer_group_fixture.h"
#include "comm/zeromq/inbox.h"
#include "comm/zeromq/outbox.h"
#include "comm/zeromq/sockets.h"
#include "comm/zeromq/zeromq_frame.h"

// Who may take part in a group over ZeroMQ, and what others on the network see and can do.
namespace tandem::comm::test {
namespace {

using peer_group::Card;
using peer_group::FrameHeader;
using peer_group::FrameKind;
using std::chrono::seconds;
using std::chrono::steady_clock;
using tandem::test::Relay;
using tandem::test::Tcp;

constexpr seconds kLongEnough(60);

// Fields of a card.
constexpr std::size_t kEndpoint = 1;
constexpr std::size_t kPublicKey = 2;

std::string field(const Card& card, std::size_t number) {
  const auto text = peer_group::field_of(card, number).value();
  return {text.begin(), text.end()};
}

Card card_of(Store& store, int rank) {
  return store.get("group/rank/" + std::to_string(rank), steady_clock::now() + kLongEnough).value();
}

Card make_card(const std::string& endpoint, const std::string& public_key) {
  Card card;
  for (const std::string& text : {std::string("host"), endpoint, public_key}) peer_group::append_field(card, text);
  return card;
}

/// Tells the others that rank 1 listens somewhere else.
class MisleadingStore : public MemoryStore {
 public:
  explicit MisleadingStore(std::function<std::string(const std::string& endpoint)> elsewhere)
      : elsewhere_(std::move(elsewhere)) {}

  void set(const std::string& key, std::span<const std::byte> value) override {
    if (key != "group/rank/1") return MemoryStore::set(key, value);
    const Card card(value.begin(), value.end());
    MemoryStore::set(key, make_card(elsewhere_(field(card, kEndpoint)), field(card, kPublicKey)));
  }

 private:
  const std::function<std::string(const std::string&)> elsewhere_;
};

/// Is gone when a rank that has all cards looks whether it may still wait.
class VanishingStore : public MemoryStore {
 public:
  std::optional<std::vector<std::byte>> get(const std::string& key, steady_clock::time_point deadline) override {
    if (key == "group/rank/0") throw std::runtime_error("the store is gone");
    return MemoryStore::get(key, deadline);
  }
};

void check_group_works(const Group& group) {
  std::vector<float> means(group.size());
  run_ranks(group, [&](Communicator& end) {
    const std::array values = {static_cast<float>(end.rank())};
    means[index(end.rank())] = end.all_reduce_mean({0, values, 1.0}).values[0];
  });
  REQUIRE(means == std::vector(group.size(), static_cast<float>(group.size() - 1) / 2));
}

/// Tries to get in at `endpoint`, and to say something there. Returns how that ended, as ZeroMQ's event.
std::uint16_t intrude(const std::string& endpoint, const std::function<void(zmq::socket_t&)>& set_keys) {
  zmq::context_t context;
  zmq::socket_t socket(context, zmq::socket_type::router);
  zeromq::Monitor monitor(context, socket);
  socket.set(zmq::sockopt::linger, 0);
  socket.set(zmq::sockopt::reconnect_ivl, -1);
  socket.set(zmq::sockopt::connect_routing_id, "rank");
  set_keys(socket);
  socket.connect(endpoint);
  std::vector<zmq::message_t> parts;
  parts.emplace_back(std::string("rank"));
  parts.push_back(zeromq::make_message({{{.kind = FrameKind::abort}, {}}}));
  zeromq::send_message(socket, std::move(parts));
  std::uint16_t failure = 0;
  std::vector<zmq_pollitem_t> items = {{monitor.socket().handle(), 0, ZMQ_POLLIN, 0}};
  for (const auto begin = steady_clock::now(); steady_clock::now() - begin < kLongEnough;) {
    zeromq::wait_for(items, seconds(1));
    while (const auto event = monitor.next()) {
      if (event->what == ZMQ_EVENT_DISCONNECTED || event->what == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) {
        return failure == 0 ? event->what : failure;
      }
      if (event->what == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH) failure = event->what;
    }
  }
  return 0;
}

/// Rank 1 of a group of two, which can say what it wants.
class Impostor {
 public:
  explicit Impostor(Store& store)
      : inbox_(context_,
               {.address = "127.0.0.1", .keys = keys_, .handshake_limit = kLongEnough, .largest_message = 1'000'000}),
        outbox_(context_, keys_, kLongEnough) {
    store.set("group/rank/1", make_card(inbox_.endpoint(), keys_.public_key));
    const Card card = card_of(store, 0);
    inbox_.accept(0, field(card, kPublicKey));
    outbox_.connect(0, field(card, kEndpoint), field(card, kPublicKey));
    say(0, {.kind = FrameKind::hello}, {});
    inbox_.add_to(items_);
    answer_until([&] { return inbox_.next().has_value(); });
  }

  void say(std::uint64_t number, const FrameHeader& header, std::span<const std::byte> data) {
    zmq::message_t message = zeromq::make_message({peer_group::FramePart{header, data}});
    zeromq::set_number(message, number);
    say(std::move(message));
  }
  void say(zmq::message_t message) { (void)outbox_.send(0, std::move(message)); }

  /// Lets in rank 0 meanwhile, if it asks to.
  void answer_until(const std::function<bool()>& is_enough) {
    const auto begin = steady_clock::now();
    while (!is_enough() && steady_clock::now() - begin < kLongEnough) {
      zeromq::wait_for(items_, std::chrono::milliseconds(10));
      inbox_.answer_keys();
    }
  }

 private:
  const KeyPair keys_ = make_key_pair();
  zmq::context_t context_;
  zeromq::Inbox inbox_;
  zeromq::Outbox outbox_;
  std::vector<zmq_pollitem_t> items_;
};

/// What rank 0 throws when it receives from an impostor that does `act`.
std::string error_with_impostor(const std::function<void(Impostor&)>& act) {
  MemoryStore store;
  std::atomic<bool> done = false;
  std::thread other([&] {
    Impostor impostor(store);
    act(impostor);
    impostor.answer_until([&] { return done.load(); });
  });
  std::string what;
  try {
    const auto end = make_end(store, {.size = 2, .address = "127.0.0.1", .key_prefix = "group"});
    std::array<std::byte, 4> data{};
    end->receive(1, 7, data);
  } catch (const CommError& error) {
    what = error.what();
  }
  done = true;
  other.join();
  return what;
}

}  // namespace

TEST_CASE("strangers are refused, with and without keys, and the group goes on undisturbed") {
  MemoryStore store;
  const Group group = make_peer_group({.size = 3}, store);
  const Card card = card_of(store, 1);
  const std::string endpoint = field(card, kEndpoint);
  check_group_works(group);

  CHECK(intrude(endpoint, [](zmq::socket_t&) {}) == ZMQ_EVENT_DISCONNECTED);
  const auto with_keys = [&](const std::string& server_key) {
    const KeyPair own = make_key_pair();
    return intrude(endpoint, [&](zmq::socket_t& socket) {
      socket.set(zmq::sockopt::curve_publickey, own.public_key);
      socket.set(zmq::sockopt::curve_secretkey, own.secret_key);
      socket.set(zmq::sockopt::curve_serverkey, server_key);
    });
  };
  CHECK(with_keys(make_key_pair().public_key) == ZMQ_EVENT_DISCONNECTED);
  CHECK(with_keys(field(card, kPublicKey)) == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH);

  const Tcp silent = Tcp::connected(endpoint);
  const Tcp talkative = Tcp::connected(endpoint);
  talkative.write("GET / HTTP/1.0\r\n\r\n" + std::string(100'000, 'x'));
  CHECK(talkative.wait_closed());
  check_group_works(group);
}

TEST_CASE("what ranks say to each other cannot be read on the network") {
  std::unique_ptr<Relay> relay;
  MisleadingStore store([&](const std::string& endpoint) {
    relay = std::make_unique<Relay>(endpoint);
    return relay->endpoint();
  });
  const Group group = make_peer_group({.size = 2}, store);
  const std::string text = "the word between the two";
  std::string received(text.size(), '\0');
  group[0]->send(1, 5, std::as_bytes(std::span(text)));
  group[1]->receive(0, 5, std::as_writable_bytes(std::span(received)));
  REQUIRE(received == text);
  CHECK(relay->saw("CURVE"));  // it was between the two
  CHECK_FALSE(relay->saw("word"));
}

TEST_CASE("a connection that breaks ends the group with an error that names the rank, and is not made anew") {
  std::unique_ptr<Relay> relay;
  MisleadingStore store([&](const std::string& endpoint) {
    relay = std::make_unique<Relay>(endpoint);
    return relay->endpoint();
  });
  const Group group = make_peer_group({.size = 2}, store);
  check_group_works(group);
  relay->cut();
  // Rank 0 may come through the first: what it sends is lost, but what it waits for comes on the other connection.
  const auto errors = run_failing_ranks(group, [](Communicator& end) {
    end.barrier();
    end.barrier();
  });
  // Either may have noticed first, and told the other.
  for (const auto& error : errors)
    CHECK_THAT(message(error), Catch::Matches(".*the connection with rank [01]( .host.)? is lost"));
  CHECK(relay->connections() == 1);
}

TEST_CASE("who listens in the place of a rank without its key is found out, and the error names the rank") {
  zmq::context_t context;
  zmq::socket_t other(context, zmq::socket_type::dealer);
  other.set(zmq::sockopt::linger, 0);
  other.set(zmq::sockopt::curve_server, true);
  other.set(zmq::sockopt::curve_secretkey, make_key_pair().secret_key);
  other.bind("tcp://127.0.0.1:*");
  const std::string endpoint = other.get(zmq::sockopt::last_endpoint);
  MisleadingStore store([&](const std::string&) { return endpoint; });
  REQUIRE_THROWS_WITH((void)make_peer_group({.size = 2}, store), Catch::Contains("rank 1 (host) cannot be reached: "));
}

TEST_CASE("a rank at whose endpoint nobody listens is an error that names it, at once") {
  const Tcp port = Tcp::reserved();
  MisleadingStore store([&](const std::string&) { return port.endpoint(); });
  const auto begin = steady_clock::now();
  REQUIRE_THROWS_WITH((void)make_peer_group({.size = 2}, store),
                      Catch::Contains("rank 1 (host) cannot be reached: nobody listens there"));
  CHECK(steady_clock::now() - begin < seconds(30));
}

TEST_CASE("a store that fails while a connection is waited for is an error, and nothing is left running") {
  const Tcp silent = Tcp::listening();
  VanishingStore store;
  store.set("group/rank/1", make_card(silent.endpoint(), make_key_pair().public_key));
  REQUIRE_THROWS_WITH((void)make_end(store, {.size = 2, .address = "127.0.0.1", .key_prefix = "group"}),
                      "the store is gone");
}

TEST_CASE("a frame that is missing, comes twice or is none ends the group with an error that names its sender") {
  const std::array<std::byte, 4> data{};
  const FrameHeader header = {.kind = FrameKind::message, .tag = 7, .size = 4, .message_size = 4};
  struct Fault {
    std::string what;
    std::function<void(Impostor&)> act;
  };
  const std::vector<Fault> faults = {
      {"frame 2 where 1 was due", [&](Impostor& impostor) { impostor.say(2, header, data); }},
      {"frame 0 where 1 was due", [&](Impostor& impostor) { impostor.say(0, header, data); }},
      {"a frame that is shorter than it says",
       [&](Impostor& impostor) { impostor.say(1, header, std::span(data).first(3)); }},
      {"a frame that is shorter than it says",
       [&](Impostor& impostor) {
         impostor.say(1, {.kind = FrameKind::message, .more = 1, .tag = 7, .size = 4, .message_size = 4}, data);
       }},
      {"a long message with another after it in a frame",
       [&](Impostor& impostor) {
         impostor.say(1, {.kind = FrameKind::message, .more = 1, .tag = 7, .size = 4, .message_size = 5000}, data);
       }},
      {"a message that is too short", [](Impostor& impostor) { impostor.say(zmq::message_t(std::string("none"))); }},
      {"a frame of no kind that is known",
       [](Impostor& impostor) { impostor.say(1, {.kind = static_cast<FrameKind>(77)}, {}); }},
  };
  for (const Fault& fault : faults) {
    CHECK_THAT(error_with_impostor(fault.act), Catch::EndsWith("from rank 1 (host) came " + fault.what));
  }
}

TEST_CASE("a rank that sends more than fits a frame loses its connection") {
  const auto error = error_with_impostor([](Impostor& impostor) { impostor.say(zmq::message_t(1'000'000)); });
  CHECK_THAT(error, Catch::EndsWith("the connection with rank 1 (host) is lost"));
}

}  // namespace tandem::comm::test
