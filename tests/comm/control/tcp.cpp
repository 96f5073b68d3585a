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
