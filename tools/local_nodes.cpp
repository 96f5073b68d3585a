#include "tools/local_nodes.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace tandem::tools {
namespace {

constexpr std::chrono::seconds patience(2);

// The driver listens already; only a machine that is busy with starting many nodes keeps one waiting.
constexpr int join_seconds = 30;

// A process starts with the signals' defaults, whatever this one has done to them.
class Attributes {
 public:
  Attributes() {
    posix_spawnattr_init(&attributes_);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~Attributes() { posix_spawnattr_destroy(&attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;

  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_;
};

std::string how_ended(int status) {
  if (WIFSIGNALED(status)) return "it was ended by signal " + std::to_string(WTERMSIG(status));
  return "it ended with status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

LocalNodes::LocalNodes(const LocalNodesOptions& options, Ended ended) : ended_(std::move(ended)) {
  try {
    for (int index = 0; index < options.count; ++index) start(options, index);
  } catch (...) {
    end_all();
    throw;
  }
}

LocalNodes::~LocalNodes() { end_all(); }

std::string LocalNodes::name(int index) { return "local" + std::to_string(index); }

void LocalNodes::start(const LocalNodesOptions& options, int index) {
  const int cores = std::max(1, options.cores / options.count);
  std::vector<std::string> words = {"tandem",         "node",
                                    options.endpoint, "--quiet",
                                    "--name",         name(index),
                                    "--cores",        std::to_string(cores),
                                    "--wait",         std::to_string(join_seconds),
                                    "--parent",       std::to_string(getpid())};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t process = 0;
  const int error = posix_spawn(&process, "/proc/self/exe", nullptr, Attributes().get(), arguments.data(), environ);
  if (error != 0) throw std::runtime_error("cannot start a local node: " + std::generic_category().message(error));
  const std::lock_guard lock(mutex_);
  running_.push_back(process);
  watchers_.emplace_back([this, process] { watch(process); });
}

void LocalNodes::watch(pid_t process) {
  // Until then it may be killed: its number is nobody else's.
  siginfo_t info{};
  while (waitid(P_PID, static_cast<id_t>(process), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  int status = 0;
  {
    const std::lock_guard lock(mutex_);
    std::erase(running_, process);
    waitpid(process, &status, 0);
  }
  ended_(process, how_ended(status));
  changed_.notify_all();
}

void LocalNodes::end_all() {
  {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, patience, [this] { return running_.empty(); });
    for (const pid_t process : running_) kill(process, SIGKILL);
  }
  for (std::thread& watcher : watchers_) watcher.join();
}

}  // namespace tandem::tools
