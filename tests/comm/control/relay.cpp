#include "comm/control/relay.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <utility>

namespace tandem::test {
namespace {

constexpr int poll_milliseconds = 5;

}  // namespace

Relay::Relay(const std::string& driver) : driver_(driver), listener_(Tcp::listening()), thread_([this] { run(); }) {}

Relay::~Relay() {
  stop_ = true;
  thread_.join();
}

void Relay::cut() {
  cut_ = true;
  while (cut_ && !stop_) std::this_thread::yield();
}

bool Relay::saw(const std::string& bytes) const {
  const std::scoped_lock lock(mutex_);
  return from_nodes_.find(bytes) != std::string::npos || from_driver_.find(bytes) != std::string::npos;
}

std::string Relay::said_by_nodes() const {
  const std::scoped_lock lock(mutex_);
  return from_nodes_;
}

void Relay::cut_after(std::size_t bytes) {
  const std::scoped_lock lock(mutex_);
  until_cut_ = bytes;
}

void Relay::run() {
  while (!stop_) {
    if (cut_) {
      links_.clear();
      cut_ = false;
    }
    std::vector<pollfd> items = {{listener_.file(), POLLIN, 0}};
    for (const Link& link : links_) {
      const short wanted = stalled_ ? 0 : POLLIN;
      items.push_back({link.node.file(), wanted, 0});
      items.push_back({link.driver.file(), wanted, 0});
    }
    ::poll(items.data(), items.size(), poll_milliseconds);
    if (items[0].revents != 0) accept_link();
    if (stalled_) continue;
    std::vector<Link> up;
    for (std::size_t i = 0; i < links_.size(); ++i) {
      Link& link = links_[i];
      const bool has_items = 2 * i + 2 < items.size();
      const bool from_node = has_items && items[2 * i + 1].revents != 0;
      const bool from_driver = has_items && items[2 * i + 2].revents != 0;
      const bool good = (!from_node || pass_on(link.node, link.driver, from_nodes_)) &&
                        (!from_driver || pass_on(link.driver, link.node, from_driver_));
      if (good) up.push_back(std::move(link));
    }
    links_ = std::move(up);
  }
}

void Relay::accept_link() {
  Tcp node(::accept4(listener_.file(), nullptr, nullptr, SOCK_CLOEXEC));
  ++connections_;
  if (dead_) return;
  Tcp driver = Tcp::connected(driver_);
  if (driver.file() >= 0) links_.push_back({std::move(node), std::move(driver)});
}

bool Relay::pass_on(const Tcp& from, const Tcp& to, std::string& seen) {
  std::array<char, 65536> buffer;
  const ssize_t count = ::recv(from.file(), buffer.data(), buffer.size(), 0);
  if (count <= 0) return false;
  std::string bytes(buffer.data(), static_cast<std::size_t>(count));
  bool last = false;
  {
    const std::scoped_lock lock(mutex_);
    if (until_cut_) {
      last = bytes.size() >= *until_cut_;
      bytes.resize(std::min(bytes.size(), *until_cut_));
      *until_cut_ -= bytes.size();
      if (last) until_cut_.reset();
    }
    seen += bytes;
  }
  to.write(bytes);
  return !last;
}

}  // namespace tandem::test
