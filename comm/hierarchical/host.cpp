#include "comm/hierarchical/host.h"

#include <new>
#include <utility>

namespace tandem::comm::hierarchical {

Host::Host(std::vector<int> ranks, const HierarchicalOptions& options)
    : ranks_(std::move(ranks)), exchange_(static_cast<int>(options.hosts.size()), options.mean) {}

void Host::set_result(const Mean& mean) {
  const std::lock_guard lock(mutex_);
  result_ = mean;
}

Mean Host::result() const {
  const std::lock_guard lock(mutex_);
  return result_;
}

void Host::set_cause(const std::string& cause) noexcept {
  const std::lock_guard lock(mutex_);
  if (cause_) return;
  try {
    cause_ = cause;
  } catch (const std::bad_alloc&) {
    cause_ = "out of memory";  // short enough to need none
  }
}

std::optional<std::string> Host::cause() const {
  const std::lock_guard lock(mutex_);
  return cause_;
}

}  // namespace tandem::comm::hierarchical
