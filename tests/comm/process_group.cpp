#include "comm/process_group.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

// The socket between a process and the test keeps messages apart. A message is a letter and a text:
//   S key, a zero byte, value   set
//   G key                       get; the answer is the key, a zero byte and the value, as soon as it is set
//   R text                      report
namespace tandem::comm::test {
namespace {

constexpr std::size_t kLongest = 128 * 1024;

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

void send_message(int socket, const std::string& message) {
  if (::send(socket, message.data(), message.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(message.size())) {
    fail("cannot send to a process");
  }
}

/// Empty at the end.
std::string receive_message(int socket) {
  std::string message(kLongest, '\0');
  ssize_t size = 0;
  do {
    size = ::recv(socket, message.data(), message.size(), 0);
  } while (size == -1 && errno == EINTR);
  // A process that is killed with messages unread resets the connection.
  if (size == -1 && errno != ECONNRESET) fail("cannot receive from a process");
  message.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  return message;
}

}  // namespace

void Parent::set(const std::string& key, std::span<const std::byte> value) {
  send('S', key + '\0' + std::string(reinterpret_cast<const char*>(value.data()), value.size()));
}

std::optional<std::vector<std::byte>> Parent::get(const std::string& key,
                                                  std::chrono::steady_clock::time_point deadline) {
  send('G', key);
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd poll{.fd = socket_, .events = POLLIN, .revents = 0};
    if (::poll(&poll, 1, static_cast<int>(std::max<std::int64_t>(0, left.count()))) == 0) return std::nullopt;
    const std::string answer = receive_message(socket_);
    if (answer.empty()) throw std::runtime_error("the test is gone");
    const std::size_t end = answer.find('\0');
    // Else it is the answer to an earlier get, which did not wait for it.
    if (answer.substr(0, end) != key) continue;
    const auto bytes = std::as_bytes(std::span(answer).subspan(end + 1));
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  }
}

void Parent::report(const std::string& text) { send('R', text); }

void Parent::send(char kind, const std::string& text) { send_message(socket_, kind + text); }

ProcessGroup::ProcessGroup(int size, const std::function<void(int, Parent&)>& body)
    : processes_(static_cast<std::size_t>(size)) {
  for (int number = 0; number < size; ++number) {
    std::array<int, 2> sockets{};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets.data()) != 0) fail("cannot make a socket pair");
    Process& process = processes_[static_cast<std::size_t>(number)];
    process.socket = sockets[0];
    process.id = ::fork();
    if (process.id == -1) fail("cannot fork");
    if (process.id != 0) {
      ::close(sockets[1]);
      continue;
    }
    // Its end must be the only one that is open, so that the test sees when it is closed.
    for (const Process& other : processes_) ::close(other.socket);
    // Those of the test framework would report as if this were the test.
    for (const int number_of_signal : {SIGTERM, SIGINT, SIGSEGV, SIGABRT}) ::signal(number_of_signal, SIG_DFL);
    Parent parent(sockets[1]);
    try {
      body(number, parent);
    } catch (const std::exception& error) {
      parent.report(error.what());
    }
    ::_exit(0);
  }
}

ProcessGroup::~ProcessGroup() {
  for (const Process& process : processes_) ::kill(process.id, SIGKILL);
  for (const Process& process : processes_) {
    ::waitpid(process.id, nullptr, 0);
    ::close(process.socket);
  }
}

std::string ProcessGroup::await_report(int number) {
  Process& process = processes_[static_cast<std::size_t>(number)];
  while (process.reports.empty()) {
    if (process.ended) throw std::runtime_error("process " + std::to_string(number) + " ended without a report");
    serve();
  }
  std::string report = std::move(process.reports.front());
  process.reports.pop_front();
  return report;
}

void ProcessGroup::signal(int number, int signal) {
  if (::kill(processes_[static_cast<std::size_t>(number)].id, signal) != 0) fail("cannot signal a process");
}

void ProcessGroup::set(const std::string& key, const std::string& value) {
  values_[key] = value;
  for (Process& process : processes_) answer(process);
}

void ProcessGroup::serve() {
  std::vector<pollfd> polls;
  for (const Process& process : processes_) {
    polls.push_back({.fd = process.ended ? -1 : process.socket, .events = POLLIN, .revents = 0});
  }
  if (::poll(polls.data(), polls.size(), -1) == -1 && errno != EINTR) fail("cannot wait for processes");
  for (std::size_t i = 0; i < polls.size(); ++i) {
    if (polls[i].revents != 0) take_message(processes_[i]);
  }
}

void ProcessGroup::take_message(Process& process) {
  const std::string message = receive_message(process.socket);
  if (message.empty()) {
    process.ended = true;
    return;
  }
  const std::string text = message.substr(1);
  switch (message.front()) {
    case 'S': {
      const std::size_t end = text.find('\0');
      set(text.substr(0, end), text.substr(end + 1));
      break;
    }
    case 'G':
      process.wanted_key = text;
      answer(process);
      break;
    default:
      process.reports.push_back(text);
  }
}

void ProcessGroup::answer(Process& process) {
  const auto found = values_.find(process.wanted_key);
  if (process.ended || found == values_.end()) return;
  send_message(process.socket, found->first + '\0' + found->second);
  process.wanted_key.clear();
}

}  // namespace tandem::comm::test
