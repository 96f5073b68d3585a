#include "comm/gloo.h"

#include <stdexcept>

#include "comm/gloo/ranks.h"
#include "comm/message_mean.h"

namespace tandem::comm {

std::unique_ptr<Communicator> make_gloo_communicator(Store& store, const GlooOptions& options) {
  if (options.size < 1) throw std::invalid_argument("a group needs at least one rank");
  if (options.rank < 0 || options.rank >= options.size) {
    throw std::invalid_argument("there is no rank " + std::to_string(options.rank) + " in a group of " +
                                std::to_string(options.size));
  }
  if (options.results_kept < 1) throw std::invalid_argument("a group must keep at least one result");
  for (const Duration limit : {options.deadline, options.connect_deadline}) {
    if (limit <= Duration::zero() || limit > longest_wait) {
      throw std::invalid_argument("a group's deadline must be more than zero and at most a year");
    }
  }
  return with_message_mean(gloo_transport::make_ranks(store, options),
                           {.algorithm = config::Algorithm::direct, .results_kept = options.results_kept});
}

}  // namespace tandem::comm
