#include "actors/exchange.h"

namespace tandem::actors {
namespace {

class AllReduce final : public Exchange {
 public:
  explicit AllReduce(comm::Communicator& ranks) : ranks_(ranks) {}

  Update exchange(const comm::Contribution& gradient) override {
    const comm::Mean mean = ranks_.all_reduce_mean(gradient);
    return {.step = mean.step,
            .values = mean.values,
            .weight = mean.weight,
            .finite = mean.finite,
            .non_finite_rank = mean.non_finite_rank,
            .ahead = std::nullopt,
            .encoding = mean.encoding,
            .decoding = mean.decoding};
  }

  std::span<const float> true_state(bool) override { return {}; }

 private:
  comm::Communicator& ranks_;
};

}  // namespace

std::unique_ptr<Exchange> make_all_reduce(ExchangeOptions options) {
  return std::make_unique<AllReduce>(*options.ranks);
}

}  // namespace tandem::actors
