#pragma once

#include <functional>

#include "comm/communicator.h"
#include "config/job.h"

namespace tandem::actors {

/// What a reducer does with its worker's gradient: turns one rank's contribution into the update that all apply.
using Exchange = std::function<comm::Mean(const comm::Contribution&)>;

/// A topology is a row of a table: with whom a reducer exchanges what. Width and correction are settings of their own.
struct TopologyRow {
  config::TopologyKind kind;
  Exchange (*exchange)(comm::Communicator& ranks);
};

const TopologyRow& topology(config::TopologyKind kind);

}  // namespace tandem::actors
