#include <catch2/catch.hpp>

#include <chrono>
#include <future>
#include <random>
#include <thread>

#include "actors/bridge/peer.h"
#include "actors/published_store.h"
#include "actors/system.h"
#include "comm/communicator.h"

// Actors of two systems that know each other by what a bridge carries, here by hand.
namespace {

using namespace tandem;
using namespace tandem::actors;
using Catch::Contains;

using Bytes = std::vector<std::byte>;

Bytes packed(caf::actor_system& system, const Parcel& parcel) {
  const auto bytes = bytes_of<MessagesToDriver>(system, parcel);
  REQUIRE(bytes);
  return *bytes;
}

template <class Message>
using Promise = std::shared_ptr<std::promise<Message>>;

// An actor that keeps what it gets of one kind.
template <class Message>
caf::behavior receiver(caf::event_based_actor* self, const Promise<Message>& got) {
  return {[=](const Message& message) {
    got->set_value(message);
    self->quit();
  }};
}

template <class Message>
caf::actor spawn_receiver(caf::actor_system& system, const Promise<Message>& got) {
  return system.spawn(receiver<Message>, got);
}

// One that lets everything pass; CAF wants an argument.
caf::behavior ignorant(caf::event_based_actor*, int) {
  return {[](const Failed&) {}, [](const Spans&) {}};
}

template <class Message>
Message value_of(const Promise<Message>& got) {
  auto future = got->get_future();
  REQUIRE(future.wait_for(std::chrono::seconds(60)) == std::future_status::ready);
  return future.get();
}

}  // namespace

TEST_CASE("a handle in a message leads back to the process that sent it") {
  System node;
  System driver;
  const auto permit = std::make_shared<std::promise<Permit>>();
  const caf::actor worker = spawn_receiver(node.actors(), permit);
  WorkersStarted started;
  started.workers.push_back({worker});

  // What goes from the driver to the node's actors.
  Peer driver_at_node(node.actors(), [](const Parcel&) {});
  Peer node_at_driver(driver.actors(), [&](const Parcel& parcel) {
    const auto bytes = bytes_of<MessagesToNode>(driver.actors(), parcel);
    if (bytes) driver_at_node.deliver<MessagesToNode>(*bytes, worker);
  });
  const auto told = std::make_shared<std::promise<WorkersStarted>>();
  node_at_driver.deliver<MessagesToDriver>(
      packed(node.actors(),
             {.receiver = Parcel::root, .sender = Parcel::nobody, .content = caf::make_message(started)}),
      spawn_receiver(driver.actors(), told));
  caf::anon_send(value_of(told).workers.at(0).actor, Permit{17, 2, false, false});
  CHECK(value_of(permit).until == 17);
}

TEST_CASE("nothing is sent to a process that is gone") {
  System system;
  int sent = 0;
  Peer peer(system.actors(), [&](const Parcel&) { ++sent; });
  const caf::actor root = peer.root();
  caf::anon_send(root, Abort{"1"});
  peer.end();
  caf::anon_send(root, Abort{"2"});
  CHECK(sent == 1);
}

TEST_CASE("messages that are not listed stay in the process") {
  System system;
  CHECK_FALSE(bytes_of<MessagesToDriver>(
      system.actors(),
      {.receiver = Parcel::root, .sender = Parcel::nobody, .content = caf::make_message(Interrupt{})}));
  CHECK_FALSE(bytes_of<MessagesToNode>(
      system.actors(), {.receiver = Parcel::root, .sender = Parcel::nobody, .content = caf::make_message(Finished{})}));
  CHECK_FALSE(bytes_of<MessagesToNode>(
      system.actors(), {.receiver = Parcel::root, .sender = Parcel::nobody, .content = caf::make_message(1, 2)}));
}

TEST_CASE("bytes that are no message are an error, whatever they are") {
  System system;
  Peer peer(system.actors(), [](const Parcel&) {});
  const caf::actor root = system.actors().spawn(ignorant, 0);
  const auto deliver = [&](const Bytes& bytes) { peer.deliver<MessagesToDriver>(bytes, root); };
  const Failed failed{ActorKind::worker, 3, 6, "bad shard", Blame::own};
  const Bytes whole = packed(
      system.actors(), {.receiver = Parcel::root, .sender = Parcel::nobody, .content = caf::make_message(failed)});
  CHECK_NOTHROW(deliver(whole));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CHECK_THROWS_WITH(deliver({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)}),
                      Contains("cut short"));
  }
  Bytes longer = whole;
  longer.push_back({});
  CHECK_THROWS_WITH(deliver(longer), Contains("bytes after its end"));
  Bytes unknown = whole;
  unknown[16] = std::byte{0x7f};
  CHECK_THROWS_WITH(deliver(unknown), Contains("number"));
  // As one that has ended, of which the sender did not know yet.
  CHECK_NOTHROW(deliver(
      packed(system.actors(), {.receiver = 4711, .sender = Parcel::nobody, .content = caf::make_message(failed)})));

  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    Bytes bytes = whole;
    if (random() % 2 == 0) {
      bytes.resize(random() % 64);
      for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    } else {
      for (int i = 0; i < 4; ++i) bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    }
    try {
      deliver(bytes);
    } catch (const std::runtime_error&) {
      continue;
    }
  }
  caf::anon_send_exit(root, caf::exit_reason::kill);
}

TEST_CASE("a store waits for what is published, and no longer once it is closed") {
  std::vector<std::string> published;
  PublishedStore store([&](const std::string& key, std::span<const std::byte>) { published.push_back(key); });
  const auto now = [] { return std::chrono::steady_clock::now(); };
  const Bytes value(3, std::byte{7});
  store.set("a", value);
  CHECK(published == std::vector<std::string>{"a"});
  CHECK_FALSE(store.get("a", now()));
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    store.put("a", value);
  });
  CHECK(store.get("a", now() + std::chrono::seconds(60)) == value);
  later.join();
  std::thread closing([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    store.close("the run has failed");
  });
  CHECK_THROWS_AS(store.get("b", now() + std::chrono::seconds(60)), comm::AbortedError);
  CHECK_THROWS_WITH(store.get("a", now()), Contains("the run has failed"));
  closing.join();
}
