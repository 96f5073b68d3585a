#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// A job: everything a run depends on, read once from a TOML file and never changed afterwards.
//
// Plain data. Values here are already validated and every default is filled in. A setting that has no effect in this
// job was refused where a user gave it, and holds what says so where there is such a value (with Adam, momentum 0;
// without hidden layers, an empty list), else the default. docs/configuration.md describes every key.
namespace tandem::config {

enum class DataKind { idx, synthetic };

/// Where samples come from. Images are float32 of shape [channels, height, width].
struct Data {
  DataKind kind = DataKind::idx;
  /// idx: the folder with train-images-idx3-ubyte, train-labels-idx1-ubyte and the two t10k files, gzipped or not.
  std::string folder = "/usr/share/datasets/fashion-mnist";
  /// idx: pixels become (value / 255 - mean) / deviation.
  double mean = 0.2860;
  double deviation = 0.3530;
  /// synthetic: how many samples there are to train on and to test with, and of which shape.
  std::int64_t samples = 4096;
  std::int64_t test_samples = 1024;
  std::int64_t channels = 1;
  std::int64_t height = 28;
  std::int64_t width = 28;
  std::int64_t classes = 10;

  bool operator==(const Data&) const = default;
};

enum class ModelKind { softmax, mlp, resnet18 };

struct Model {
  ModelKind kind = ModelKind::mlp;
  /// mlp: sizes of the hidden layers, from the input's side.
  std::vector<std::int64_t> hidden = {500, 500};

  bool operator==(const Model&) const = default;
};

struct Training {
  /// Replicas, each with an actor of its own; the world size.
  int workers = 4;
  /// Samples a worker computes on at once.
  std::int64_t batch = 64;
  /// Batches that a worker computes a step, one after the other; the global batch is workers * batch * accumulate.
  std::int64_t accumulate = 1;
  std::int64_t epochs = 5;
  /// Ends the run after so many steps, even within an epoch; unset: the epochs alone say.
  std::optional<std::int64_t> steps = std::nullopt;
  /// Decides weight initialization, the order of samples and synthetic data.
  std::uint64_t seed = 1;
  /// Threads a worker computes with; unset: the machine's cores shared between the workers, at least one each.
  std::optional<int> threads = std::nullopt;

  bool operator==(const Training&) const = default;
};

enum class OptimizerKind { sgd, adam, adamw };

struct Optimizer {
  OptimizerKind kind = OptimizerKind::sgd;
  double lr = 0.05;
  double momentum = 0.9;      // sgd
  bool nesterov = false;      // sgd
  double weight_decay = 0.0;  // sgd and adam: added to the gradient; adamw: decoupled
  double beta1 = 0.9;         // adam, adamw
  double beta2 = 0.999;       // adam, adamw
  double epsilon = 1e-8;      // adam, adamw
  /// Scales a mean gradient whose Euclidean norm is larger down to this norm; unset: no clipping.
  std::optional<double> clip_norm = std::nullopt;

  bool operator==(const Optimizer&) const = default;
};

enum class ScheduleKind { constant, step, cosine };

/// The learning rate over the steps, as a factor of optimizer.lr.
struct Schedule {
  ScheduleKind kind = ScheduleKind::constant;
  /// Before anything else the rate rises linearly over so many steps: lr * (step + 1) / (warmup_steps + 1).
  std::int64_t warmup_steps = 0;
  /// step: after every `interval` steps (counted from the end of warm-up) the rate is multiplied by `factor`.
  std::int64_t interval = 1000;
  double factor = 0.1;
  /// cosine: the rate at the last step, as a share of optimizer.lr.
  double final_share = 0.0;

  bool operator==(const Schedule&) const = default;
};

enum class TopologyKind { ps_sync, ps_async, allreduce, pipeline };

/// How a gradient makes up for weights that miss updates in flight (docs/architecture.md).
enum class Correction { none, momentum, local, dc };

/// How gradients are put into bytes.
enum class Codec { none, bf16, int8 };

/// How an AllReduce moves them: in the communicator's own way, or by messages between the ranks.
enum class Algorithm { native, direct, ring };

struct Topology {
  TopologyKind kind = TopologyKind::pipeline;
  /// Steps in flight on a worker at once, 1 to 8; the staleness is width - 1.
  int width = 2;
  /// Runs so many steps at width 1 before the width above takes effect.
  std::int64_t warmup_steps = 0;
  Correction correction = Correction::local;
  /// dc: lambda in g + lambda * g * g * (w_now - w_then).
  double dc_lambda = 0.04;
  /// allreduce, pipeline. Not native with a codec.
  Algorithm algorithm = Algorithm::native;
  Codec codec = Codec::none;
  /// ps_sync, ps_async: actors that the parameters are split over.
  int servers = 1;
  /// ps_sync, ps_async: the name of the node that all servers are on; unset: they are spread over the nodes.
  std::optional<std::string> server_node = std::nullopt;
  /// ps_async: steps that a worker may run ahead of the slowest; 0 is ps_sync, unset: any number.
  std::optional<std::int64_t> staleness = std::nullopt;

  bool operator==(const Topology&) const = default;
};

/// Of a run over several nodes.
struct Cluster {
  /// Seconds that the driver waits for its nodes to join.
  double join_timeout_seconds = 300.0;
  /// Seconds that ranks try to connect with each other.
  double connect_timeout_seconds = 30.0;
  /// Seconds without a sign of life after which a node is given up. Less than run.exchange_timeout_seconds, so that a
  /// run names the node that hangs, and not those that wait for it.
  double silence_seconds = 5.0;
  /// The network interface that gradients travel by; unset: the one that leads to the driver.
  std::optional<std::string> interface = std::nullopt;
  /// Whether gradients travel encrypted, between ranks that have proved who they are.
  bool encrypt_data = false;

  bool operator==(const Cluster&) const = default;
};

struct Run {
  /// Names the folder of results, below `folder`.
  std::string name = "run";
  std::string folder = "runs";
  /// Seconds between two lines of progress.
  double report_seconds = 1.0;
  /// Test accuracy after every epoch, not only at the end.
  bool evaluate_epochs = true;
  /// Seconds that a collective may wait for a rank that does not come.
  double exchange_timeout_seconds = 60.0;

  bool operator==(const Run&) const = default;
};

struct Job {
  Run run;
  Data data;
  Model model;
  Training training;
  Optimizer optimizer;
  Schedule schedule;
  Topology topology;
  Cluster cluster;

  bool operator==(const Job&) const = default;
};

/// The steps of the whole run: all epochs, or fewer if training.steps says so.
std::int64_t total_steps(const Training& training, std::int64_t steps_per_epoch);

/// Whether servers hold the weights and the optimizer.
bool has_parameter_servers(TopologyKind kind);
/// Whether all workers take each step together, so that one update is the mean over all of them.
bool is_synchronous(const Topology& topology);

/// The names that the job file uses for the values above, null for what is no value of the enumeration. The
/// schema relies on values that count from 0 without a gap.
const char* name(DataKind kind);
const char* name(ModelKind kind);
const char* name(OptimizerKind kind);
const char* name(ScheduleKind kind);
const char* name(TopologyKind kind);
const char* name(Correction correction);
const char* name(Codec codec);
const char* name(Algorithm algorithm);

}  // namespace tandem::config
