#pragma once

#include <CLI/CLI.hpp>

#include <optional>
#include <string>

#include "actors/cluster_run.h"

namespace tandem::tools {

/// The arguments by which `train` becomes the driver of nodes.
struct ClusterArguments {
  std::optional<int> nodes;
  std::optional<int> local_nodes;
  std::string listen;
  std::string key_file;
  std::string accept_file;
  bool insecure = false;

  void add_to(CLI::App& command);
  bool given() const { return nodes || local_nodes; }
  /// Throws config::JobError for arguments that do not go together, comm::KeyError for keys that cannot be read.
  actors::DriverPlace place() const;
};

/// The arguments of `node`.
struct NodeArguments {
  std::string driver;
  std::string name;
  std::optional<int> cores;
  double wait = 300;
  std::string key_file;
  std::string driver_key_file;
  bool quiet = false;
  /// The process that started this one, if this is to end with it.
  std::optional<int> parent;

  void add_to(CLI::App& command);
  actors::NodePlace place() const;
};

}  // namespace tandem::tools
