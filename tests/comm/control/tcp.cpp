#include "comm/control/tcp.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <utility>

namespace tandem::test {
namespace {

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

Tcp new_socket() { return Tcp(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)); }

void bind_to_free_port(const Tcp& socket) {
  const sockaddr_in address = loopback(0);
  if (::bind(socket.file(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    throw std::runtime_error("no port is free");
  }
}

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
  bind_to_free_port(socket);
  if (::listen(socket.file(), 100) != 0) throw std::runtime_error("no port to listen at");
  return socket;
}

Tcp Tcp::reserved() {
  Tcp socket = new_socket();
  bind_to_free_port(socket);
  // Only now: a port that others may share would not be free.
  const int reuse = 1;
  if (::setsockopt(socket.file(), SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof(reuse)) != 0) {
    throw std::runtime_error("no port to share");
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

std::optional<std::string> Tcp::read() const {
  pollfd item{file_, POLLIN, 0};
  if (::poll(&item, 1, 10'000) <= 0) return std::nullopt;
  std::array<char, 4096> buffer;
  const ssize_t size = ::recv(file_, buffer.data(), buffer.size(), 0);
  return std::string(buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
}

bool Tcp::read_until(const std::string& bytes) const {
  std::string all;
  for (auto next = read(); next && !next->empty(); next = read()) {
    all += *next;
    if (all.find(bytes) != std::string::npos) return true;
  }
  return false;
}

bool Tcp::wait_closed() const {
  for (auto next = read(); next; next = read()) {
    if (next->empty()) return true;
  }
  return false;
}

bool has_ipv6_loopback() {
  const Tcp socket(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  return ::bind(socket.file(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
}

int open_files() {
  const auto files = std::filesystem::directory_iterator("/proc/self/fd");
  // One of them is that of the look at them.
  return static_cast<int>(std::distance(begin(files), end(files))) - 1;
}

int allow_files(int count) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = std::min(static_cast<rlim_t>(count), limit.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<int>(limit.rlim_cur);
}

}  // namespace tandem::test
