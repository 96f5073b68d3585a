#include "comm/control/relay.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <utility>

namespace tandem::test {
namespace {

constexpr int poll_milliseconds = 5;

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

Tcp new_socket() { return Tcp(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)); }

}  // namespace

Tcp& Tcp::operator=(Tcp&& other) noexcept {
  std::swap(file_, other.file_);
  return *this;
}

Tcp::~Tcp() {
  if (file_ >= 0) ::close(file_);
}

Tcp Tcp::connected(const std::string& endpoint) {
  Tcp socket = new_socket();
  const sockaddr_in address = loopback(std::stoi(endpoint.substr(endpoint.rfind(':') + 1)));
  if (::connect(socket.file(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) return Tcp();
  return socket;
}

Tcp Tcp::listening() {
  Tcp socket = new_socket();
  const sockaddr_in address = loopback(0);
  if (::bind(socket.file(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      ::listen(socket.file(), 100) != 0) {
    throw std::runtime_error("no port to listen at");
  }
  return socket;
}

std::string Tcp::endpoint() const {
  sockaddr_in address{};
  socklen_t size = sizeof(address);
  ::getsockname(file_, reinterpret_cast<sockaddr*>(&address), &size);
  return "tcp://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
}

void Tcp::write(const std::string& bytes) const {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t written = ::send(file_, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    // The other side may have had enough.
    if (written < 0) return;
    done += static_cast<std::size_t>(written);
  }
}

bool Tcp::wait_closed() const {
  pollfd item{file_, POLLIN, 0};
  std::array<char, 4096> buffer;
  while (::poll(&item, 1, 10'000) > 0) {
    if (::recv(file_, buffer.data(), buffer.size(), 0) <= 0) return true;
  }
  return false;
}

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
  return seen_.find(bytes) != std::string::npos;
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
      const bool good =
          (!from_node || pass_on(link.node, link.driver)) && (!from_driver || pass_on(link.driver, link.node));
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

bool Relay::pass_on(const Tcp& from, const Tcp& to) {
  std::array<char, 65536> buffer;
  const ssize_t count = ::recv(from.file(), buffer.data(), buffer.size(), 0);
  if (count <= 0) return false;
  const std::string bytes(buffer.data(), static_cast<std::size_t>(count));
  {
    const std::scoped_lock lock(mutex_);
    seen_ += bytes;
  }
  to.write(bytes);
  return true;
}

}  // namespace tandem::test
