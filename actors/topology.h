#pragma once

#include "comm/communicator.h"
#include "config/job.h"

namespace tandem::actors {

/// A topology is a row of a table: with whom a reducer exchanges what. Width and correction are settings of their own.
struct TopologyRow {
  config::TopologyKind kind;
  /// Turns one rank's gradient into the update that all ranks apply. Blocks; called on the reducer's thread.
  comm::Mean (*exchange)(comm::Communicator& ranks, const comm::Contribution& gradient);
};

const TopologyRow& topology(config::TopologyKind kind);

}  // namespace tandem::actors
