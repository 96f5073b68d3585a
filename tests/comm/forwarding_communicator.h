#pragma once

#include <memory>
#include <utility>

#include "comm/communicator.h"

namespace tandem::comm::test {

/// Passes every call on. Tests derive from it to watch, or to spoil, some of them.
class ForwardingCommunicator : public Communicator {
 public:
  explicit ForwardingCommunicator(std::unique_ptr<Communicator> target) : target_(std::move(target)) {}

  int rank() const override { return target_->rank(); }
  int size() const override { return target_->size(); }
  Mean all_reduce_mean(const Contribution& contribution) override { return target_->all_reduce_mean(contribution); }
  void broadcast(int root, std::span<std::byte> data) override { target_->broadcast(root, data); }
  void barrier() override { target_->barrier(); }
  void send(int to, std::uint32_t tag, std::span<const std::byte> data) override { target_->send(to, tag, data); }
  void receive(int from, std::uint32_t tag, std::span<std::byte> data) override { target_->receive(from, tag, data); }
  int receive_any(std::span<const int> from, std::uint32_t tag, std::span<std::byte> data, Duration limit) override {
    return target_->receive_any(from, tag, data, limit);
  }
  Duration deadline() const override { return target_->deadline(); }
  std::uint64_t bytes_sent() const override { return target_->bytes_sent(); }
  void abort(const std::string& reason) noexcept override { target_->abort(reason); }

 private:
  std::unique_ptr<Communicator> target_;
};

}  // namespace tandem::comm::test
