#pragma once

#include <memory>

#include "actors/exchange.h"
#include "config/job.h"

namespace tandem::actors {

/// A topology is a row of a table: with whom a reducer exchanges what. Whether there are parameter servers, which then
/// have the optimizer, config::has_parameter_servers() says. Width, codec and correction are settings of their own.
struct TopologyRow {
  config::TopologyKind kind;
  std::unique_ptr<Exchange> (*make_exchange)(ExchangeOptions options);
};

const TopologyRow& topology(config::TopologyKind kind);

}  // namespace tandem::actors
