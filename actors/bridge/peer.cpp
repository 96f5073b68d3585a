#include "actors/bridge/peer.h"

#include <atomic>
#include <random>
#include <utility>

namespace tandem::actors {

// What proxies share; they may outlive the peer.
struct Peer::Way {
  const Dispatch dispatch;
  std::atomic<bool> open = true;
};

namespace {

// No process has it: a proxy must not be taken for an actor of this process, or of another peer.
caf::node_id random_id() {
  std::random_device source;
  caf::node_id::default_data::host_id_type host{};
  for (auto& byte : host) byte = static_cast<std::uint8_t>(source());
  return caf::make_node_id(source() | 1U, host);
}

template <class Way>
class Proxy final : public caf::actor_proxy {
 public:
  Proxy(caf::actor_config& config, std::shared_ptr<Way> way) : caf::actor_proxy(config), way_(std::move(way)) {}

  void enqueue(caf::mailbox_element_ptr letter, caf::execution_unit*) override {
    if (!letter || !way_->open) return;
    Parcel parcel{.receiver = id(), .sender = Parcel::nobody, .content = letter->move_content_to_message()};
    if (letter->sender) {
      // So that an answer finds it.
      detail::expose(caf::actor_cast<caf::actor>(letter->sender));
      parcel.sender = letter->sender->id();
    }
    way_->dispatch(std::move(parcel));
  }

  void kill_proxy(caf::execution_unit* context, caf::error reason) override { cleanup(std::move(reason), context); }

 private:
  std::shared_ptr<Way> way_;
};

// Where handles in a message are looked up while it is unpacked.
class Context final : public caf::scoped_execution_unit, public ForeignActors {
 public:
  using Find = std::function<caf::actor(caf::actor_id)>;

  Context(caf::actor_system& system, Find find) : caf::scoped_execution_unit(&system), find_(std::move(find)) {}

  caf::actor find(caf::actor_id id) override { return find_(id); }

 private:
  const Find find_;
};

}  // namespace

Peer::Peer(caf::actor_system& system, Dispatch dispatch)
    : system_(system), id_(random_id()), way_(new Way{std::move(dispatch)}), proxies_(system, *this) {}

Peer::~Peer() { end(); }

caf::actor Peer::root() { return find(Parcel::root); }

caf::actor Peer::find(caf::actor_id id) { return caf::actor_cast<caf::actor>(proxies_.get_or_put(id_, id)); }

template <class Messages>
void Peer::deliver(std::span<const std::byte> bytes, const caf::actor& root_here) {
  Context context(system_, [this](caf::actor_id id) { return find(id); });
  Parcel parcel = unpack<Messages>(bytes, context);
  const auto receiver = parcel.receiver == Parcel::root ? caf::actor_cast<caf::strong_actor_ptr>(root_here)
                                                        : system_.registry().get(parcel.receiver);
  // It has ended, as it may have before the sender knew.
  if (!receiver) return;
  caf::strong_actor_ptr sender;
  if (parcel.sender != Parcel::nobody) sender = caf::actor_cast<caf::strong_actor_ptr>(find(parcel.sender));
  receiver->enqueue(std::move(sender), caf::make_message_id(), std::move(parcel.content), nullptr);
}

void Peer::end() {
  way_->open = false;
  proxies_.clear();
}

caf::strong_actor_ptr Peer::make_proxy(caf::node_id node, caf::actor_id id) {
  caf::actor_config config;
  return caf::make_actor<Proxy<Way>, caf::strong_actor_ptr>(id, std::move(node), &system_, config, way_);
}

template void Peer::deliver<MessagesToNode>(std::span<const std::byte>, const caf::actor&);
template void Peer::deliver<MessagesToDriver>(std::span<const std::byte>, const caf::actor&);

}  // namespace tandem::actors
