#include <algorithm>
#include <vector>

#include "actors/exchange.h"
#include "comm/codec.h"
#include "comm/tags.h"
#include "comm/weighted_sum.h"
#include "comm/wire.h"
#include "models/sampler.h"
#include "models/step_kernels.h"

namespace tandem::actors {
namespace {

using comm::AnswerHeader;
using comm::RequestHeader;
using comm::Tag;

class ServerExchange final : public Exchange {
 public:
  explicit ServerExchange(const ExchangeOptions& options)
      : job_(*options.job),
        ranks_(*options.ranks),
        size_(options.initial_state.size()),
        states_(static_cast<std::size_t>(job_.topology.width)),
        encoded_(static_cast<std::size_t>(job_.topology.servers)) {
    if (ranks_.rank() == 0) bring(options.initial_state);
  }

  Update exchange(const comm::Contribution& gradient) override {
    push(gradient);
    Update update = pull(gradient.step, states_[exchanges_++ % states_.size()]);
    // A gradient that is skipped takes nothing of what was left over along.
    if (update.finite && gradient.weight > 0) residual_.swap(new_residual_);
    return update;
  }

  std::span<const float> true_state(bool last) override {
    RequestHeader header;
    header.kind = last ? RequestHeader::Kind::last_state : RequestHeader::Kind::state;
    for (int server = 0; server < servers(); ++server) send(server, Tag::request, comm::bytes_of(header));
    pull(header.step, true_state_);
    return true_state_;
  }

 private:
  int servers() const { return job_.topology.servers; }
  int rank_of(int server) const { return job_.training.workers + server; }

  void send(int server, Tag tag, std::span<const std::byte> data) {
    ranks_.send(rank_of(server), static_cast<std::uint32_t>(tag), data);
  }

  // A server notices before this that a worker does not come, and can name it.
  void receive(int server, Tag tag, std::span<std::byte> data) {
    const int from = rank_of(server);
    ranks_.receive_any({&from, 1}, static_cast<std::uint32_t>(tag), data, 2 * ranks_.deadline());
  }

  template <class Value>
  std::span<Value> part(std::span<Value> vector, int server) const {
    const models::Share share = models::even_share(static_cast<std::int64_t>(size_), servers(), server);
    return vector.subspan(static_cast<std::size_t>(share.first), static_cast<std::size_t>(share.count));
  }

  void bring(std::span<const float> state) {
    for (int server = 0; server < servers(); ++server) {
      send(server, Tag::initial_state, std::as_bytes(part(state, server)));
    }
  }

  void push(const comm::Contribution& gradient) {
    RequestHeader header;
    header.codec = static_cast<std::uint8_t>(job_.topology.codec);
    header.step = gradient.step;
    header.weight = gradient.weight;
    if (gradient.weight > 0) {
      header.finite = encode(gradient.values) ? 1 : 0;
      const bool clipped_alone = job_.optimizer.clip_norm && !config::is_synchronous(job_.topology);
      if (clipped_alone) header.squared_norm = models::sum_of_squares(gradient.values);
    }
    for (int server = 0; server < servers(); ++server) {
      const std::span<const float> values = part(gradient.values, server);
      header.size = values.size();
      send(server, Tag::request, comm::bytes_of(header));
      if (gradient.weight > 0) send(server, Tag::gradient, encodes() ? encoded_part(server) : std::as_bytes(values));
    }
  }

  bool encodes() const { return job_.topology.codec != config::Codec::none; }

  std::span<std::byte> encoded_part(int server) { return encoded_[static_cast<std::size_t>(server)]; }

  // Each server's part by itself, if there is a codec. Returns whether all values are finite.
  bool encode(std::span<const float> gradient) {
    if (!encodes()) return comm::all_finite(gradient);
    residual_.resize(size_);
    new_residual_.resize(size_);
    bool finite = true;
    for (int server = 0; server < servers(); ++server) {
      const std::span<const float> values = part(gradient, server);
      encoded_[static_cast<std::size_t>(server)].resize(comm::encoded_size(job_.topology.codec, values.size()));
      finite &= comm::encode_with_feedback(job_.topology.codec, values, part(std::span<const float>(residual_), server),
                                           part(std::span(new_residual_), server), encoded_part(server));
    }
    return finite;
  }

  // Puts the servers' parts of the state together. What they say of the update is the same, but for how far ahead.
  Update pull(comm::Step step, std::vector<float>& state) {
    state.resize(size_);
    Update update{.step = step, .values = state, .weight = 0, .finite = true, .non_finite_rank = {}, .ahead = {}};
    for (int server = 0; server < servers(); ++server) {
      AnswerHeader header;
      receive(server, Tag::answer, comm::writable_bytes_of(header));
      receive(server, Tag::state, std::as_writable_bytes(part(std::span<float>(state), server)));
      update.weight = header.weight;
      update.finite = header.finite != 0;
      if (header.non_finite_rank != AnswerHeader::no_rank) update.non_finite_rank = header.non_finite_rank;
      if (header.ahead != AnswerHeader::unknown) update.ahead = std::max(header.ahead, update.ahead.value_or(0));
    }
    return update;
  }

  const config::Job& job_;
  comm::Communicator& ranks_;
  std::size_t size_;
  std::size_t exchanges_ = 0;
  std::vector<std::vector<float>> states_;  // used in turn
  std::vector<float> true_state_;
  std::vector<float> residual_;  // of error feedback
  std::vector<float> new_residual_;
  std::vector<std::vector<std::byte>> encoded_;  // by server
};

}  // namespace

std::unique_ptr<Exchange> make_server_exchange(const ExchangeOptions& options) {
  return std::make_unique<ServerExchange>(options);
}

}  // namespace tandem::actors
