#include "config/schema.h"

#include <algorithm>
#include <limits>

#include "config/effect.h"

namespace tandem::config {
namespace {

constexpr IntegerRange kCount{1, 1'000'000'000'000};
constexpr IntegerRange kCountOrNone{0, 1'000'000'000'000};
constexpr NumberRange kSeconds{.least = 0, .most = 86400, .least_excluded = true};
constexpr NumberRange kShare{.least = 0, .most = 1};
constexpr NumberRange kShareBelowOne{.least = 0, .most = 1, .most_excluded = true};
constexpr NumberRange kPositiveShare{.least = 0, .most = 1, .least_excluded = true};
// Kernels take it as float32, in which a much smaller one is 0 and a gradient of 0 becomes 0 / 0.
constexpr NumberRange kEpsilon{.least = 1e-30, .most = 1};
constexpr NumberRange kPositive{.least = 0, .most = 1e6, .least_excluded = true};

std::vector<Key> run_keys() {
  return {
      {.table = "run",
       .name = "name",
       .field = field(&Job::run, &Run::name),
       .allowed = StringForm::file_name,
       .fallback = {.text = "the job file's name without its extension"},
       .meaning = "Names the folder of results, below `run.folder`."},
      {.table = "run",
       .name = "folder",
       .field = field(&Job::run, &Run::folder),
       .allowed = StringForm::path,
       .meaning = "Where folders of results are made; relative to the working directory."},
      {.table = "run",
       .name = "report_seconds",
       .field = field(&Job::run, &Run::report_seconds),
       .unit = "seconds",
       .allowed = kSeconds,
       .meaning = "Time between two lines of progress."},
      {.table = "run",
       .name = "evaluate_epochs",
       .field = field(&Job::run, &Run::evaluate_epochs),
       .meaning = "Measures test accuracy after every epoch, not only at the end."},
      {.table = "run",
       .name = "exchange_timeout_seconds",
       .field = field(&Job::run, &Run::exchange_timeout_seconds),
       .unit = "seconds",
       .allowed = kSeconds,
       .meaning = "How long an exchange waits for a worker that does not come before the run fails."},
  };
}

std::vector<Key> data_keys() {
  const Effect idx = only_with(DataKind::idx);
  const Effect synthetic = only_with(DataKind::synthetic);
  return {
      {.table = "data",
       .name = "kind",
       .field = field(&Job::data, &Data::kind),
       .meaning = "Where samples come from: files in the IDX format of MNIST and Fashion-MNIST, or made up from "
                  "`training.seed`."},
      {.table = "data",
       .name = "folder",
       .field = field(&Job::data, &Data::folder),
       .allowed = StringForm::path,
       .meaning = "Holds `train-images-idx3-ubyte`, `train-labels-idx1-ubyte` and the two `t10k` files, each as it is "
                  "or with `.gz`; relative to the working directory.",
       .effect = idx},
      {.table = "data",
       .name = "mean",
       .field = field(&Job::data, &Data::mean),
       .allowed = NumberRange{.least = -1e6, .most = 1e6},
       .meaning = "Pixels become (value / 255 - mean) / deviation; the default suits Fashion-MNIST.",
       .effect = idx},
      {.table = "data",
       .name = "deviation",
       .field = field(&Job::data, &Data::deviation),
       .allowed = kPositive,
       .meaning = "See `data.mean`.",
       .effect = idx},
      {.table = "data",
       .name = "samples",
       .field = field(&Job::data, &Data::samples),
       .unit = "samples",
       .allowed = IntegerRange{1, 100'000'000},
       .meaning = "How many samples there are to train on.",
       .effect = synthetic},
      {.table = "data",
       .name = "test_samples",
       .field = field(&Job::data, &Data::test_samples),
       .unit = "samples",
       .allowed = IntegerRange{1, 100'000'000},
       .meaning = "How many samples there are to test with.",
       .effect = synthetic},
      {.table = "data",
       .name = "channels",
       .field = field(&Job::data, &Data::channels),
       .allowed = IntegerRange{1, 64},
       .meaning = "Channels of an image.",
       .effect = synthetic},
      {.table = "data",
       .name = "height",
       .field = field(&Job::data, &Data::height),
       .unit = "pixels",
       .allowed = IntegerRange{1, 1024},
       .meaning = "Height of an image.",
       .effect = synthetic},
      {.table = "data",
       .name = "width",
       .field = field(&Job::data, &Data::width),
       .unit = "pixels",
       .allowed = IntegerRange{1, 1024},
       .meaning = "Width of an image.",
       .effect = synthetic},
      {.table = "data",
       .name = "classes",
       .field = field(&Job::data, &Data::classes),
       .allowed = IntegerRange{2, 100'000},
       .meaning = "How many classes the labels tell apart.",
       .effect = synthetic},
  };
}

std::vector<Key> model_keys() {
  return {
      {.table = "model",
       .name = "kind",
       .field = field(&Job::model, &Model::kind),
       .meaning = "Softmax regression (convex), a fully connected net with ReLU, or ResNet-18 as for 32x32 images."},
      {.table = "model",
       .name = "hidden",
       .field = field(&Job::model, &Model::hidden),
       .unit = "units",
       .allowed = ListRange{.shortest = 1, .longest = 16, .elements = {1, 65536}},
       .meaning = "Sizes of the hidden layers, from the input's side.",
       .effect = only_with(ModelKind::mlp),
       .neutral = std::vector<std::int64_t>{}},
  };
}

std::vector<Key> training_keys() {
  return {
      {.table = "training",
       .name = "workers",
       .field = field(&Job::training, &Training::workers),
       .allowed = IntegerRange{1, 64},
       .meaning = "Replicas of the model that train together, each on its share of every global batch."},
      {.table = "training",
       .name = "batch",
       .field = field(&Job::training, &Training::batch),
       .unit = "samples",
       .allowed = IntegerRange{1, 1'000'000},
       .meaning = "Samples that one worker computes on at once."},
      {.table = "training",
       .name = "accumulate",
       .field = field(&Job::training, &Training::accumulate),
       .unit = "batches",
       .allowed = IntegerRange{1, 1'000'000},
       .meaning = "Batches that a worker computes one after the other and accumulates into the gradient of one step; "
                  "the global batch is `training.workers` * `training.batch` * `training.accumulate` samples."},
      {.table = "training",
       .name = "epochs",
       .field = field(&Job::training, &Training::epochs),
       .unit = "epochs",
       .allowed = IntegerRange{1, 1'000'000},
       .meaning = "How many times the run goes through the training samples."},
      {.table = "training",
       .name = "steps",
       .field = field(&Job::training, &Training::steps),
       .unit = "steps",
       .allowed = kCount,
       .fallback = {.text = "unset: `training.epochs` alone decides"},
       .meaning = "Ends the run after so many steps, even within an epoch."},
      {.table = "training",
       .name = "seed",
       .field = field(&Job::training, &Training::seed),
       .allowed = IntegerRange{0, std::numeric_limits<std::int64_t>::max()},
       .meaning = "Decides initial weights, the order of samples and synthetic data."},
      {.table = "training",
       .name = "threads",
       .field = field(&Job::training, &Training::threads),
       .unit = "threads",
       .allowed = IntegerRange{1, 1024},
       .fallback = {.text = "unset: the machine's cores shared between the workers, at least one each"},
       .meaning = "Threads that one worker computes with."},
  };
}

std::vector<Key> optimizer_keys() {
  const Effect adaptive = only_with({OptimizerKind::adam, OptimizerKind::adamw});
  return {
      {.table = "optimizer",
       .name = "kind",
       .field = field(&Job::optimizer, &Optimizer::kind),
       .meaning = "The rule by which a mean gradient changes the weights."},
      {.table = "optimizer",
       .name = "lr",
       .field = field(&Job::optimizer, &Optimizer::lr),
       .allowed = kPositive,
       .meaning = "The learning rate; `[schedule]` changes it over the steps."},
      {.table = "optimizer",
       .name = "momentum",
       .field = field(&Job::optimizer, &Optimizer::momentum),
       .allowed = kShareBelowOne,
       .meaning = "Share of the last step's velocity that is kept.",
       .effect = only_with({OptimizerKind::sgd}),
       .neutral = 0.0},
      {.table = "optimizer",
       .name = "nesterov",
       .field = field(&Job::optimizer, &Optimizer::nesterov),
       .meaning = "Uses Nesterov's form of momentum.",
       .effect = only_with_momentum(),
       .neutral = false},
      {.table = "optimizer",
       .name = "weight_decay",
       .field = field(&Job::optimizer, &Optimizer::weight_decay),
       .allowed = NumberRange{.least = 0, .most = 1e6},
       .meaning = "Pulls weights to zero: with \"sgd\" and \"adam\" it is added to the gradient times the weight, with "
                  "\"adamw\" it is decoupled from it."},
      {.table = "optimizer",
       .name = "beta1",
       .field = field(&Job::optimizer, &Optimizer::beta1),
       .allowed = kShareBelowOne,
       .meaning = "Share of the gradient's running mean that is kept each step.",
       .effect = adaptive},
      {.table = "optimizer",
       .name = "beta2",
       .field = field(&Job::optimizer, &Optimizer::beta2),
       .allowed = kShareBelowOne,
       .meaning = "Share of the squared gradient's running mean that is kept each step.",
       .effect = adaptive},
      {.table = "optimizer",
       .name = "epsilon",
       .field = field(&Job::optimizer, &Optimizer::epsilon),
       .allowed = kEpsilon,
       .meaning = "Keeps the division by the root of the squared gradient's mean finite.",
       .effect = adaptive},
      {.table = "optimizer",
       .name = "clip_norm",
       .field = field(&Job::optimizer, &Optimizer::clip_norm),
       .allowed = kPositive,
       .fallback = {.text = "unset: no clipping"},
       .meaning = "Scales a mean gradient whose Euclidean norm is larger down to this norm."},
  };
}

std::vector<Key> schedule_keys() {
  return {
      {.table = "schedule",
       .name = "kind",
       .field = field(&Job::schedule, &Schedule::kind),
       .meaning = "How the learning rate goes on after warm-up: it stays, falls in steps, or falls along half a "
                  "cosine until the last step."},
      {.table = "schedule",
       .name = "warmup_steps",
       .field = field(&Job::schedule, &Schedule::warmup_steps),
       .unit = "steps",
       .allowed = kCountOrNone,
       .meaning = "First the rate rises linearly over so many steps: step t, counted from 0, has "
                  "`optimizer.lr` * (t + 1) / (warmup_steps + 1)."},
      {.table = "schedule",
       .name = "interval",
       .field = field(&Job::schedule, &Schedule::interval),
       .unit = "steps",
       .allowed = kCount,
       .meaning = "After every so many steps, counted from the end of warm-up, the rate is multiplied by "
                  "`schedule.factor`.",
       .effect = only_with(ScheduleKind::step)},
      {.table = "schedule",
       .name = "factor",
       .field = field(&Job::schedule, &Schedule::factor),
       .allowed = kPositiveShare,
       .meaning = "See `schedule.interval`.",
       .effect = only_with(ScheduleKind::step)},
      {.table = "schedule",
       .name = "final_share",
       .field = field(&Job::schedule, &Schedule::final_share),
       .allowed = kShare,
       .meaning = "The rate at the last step, as a share of `optimizer.lr`.",
       .effect = only_with(ScheduleKind::cosine)},
  };
}

std::vector<Key> topology_keys() {
  return {
      {.table = "topology",
       .name = "name",
       .field = field(&Job::topology, &Topology::kind),
       .meaning = "Who exchanges what: workers push gradients to parameter servers, which answer with weights, all "
                  "workers together or each by itself; or AllReduce between the steps, or while the next step is "
                  "already computed. The last two differ in the default of `topology.width` alone."},
      {.table = "topology",
       .name = "width",
       .field = field(&Job::topology, &Topology::width),
       .unit = "steps",
       .allowed = IntegerRange{1, 8},
       .fallback = {.text = "`2` with \"pipeline\", else `1`",
                    .fill = [](Job& job) { job.topology.width = job.topology.kind == TopologyKind::pipeline ? 2 : 1; }},
       .meaning = "Steps in flight on a worker at once. Gradients are computed at weights that miss the width - 1 "
                  "steps before; 1 is to wait for each exchange.",
       .chosen_for = "name"},
      {.table = "topology",
       .name = "warmup_steps",
       .field = field(&Job::topology, &Topology::warmup_steps),
       .unit = "steps",
       .allowed = kCountOrNone,
       .meaning = "Runs so many steps at width 1 before `topology.width` takes effect.",
       .effect = only_with_a_width_to_reach(),
       .neutral = std::int64_t{0}},
      {.table = "topology",
       .name = "staleness",
       .field = field(&Job::topology, &Topology::staleness),
       .unit = "steps",
       .allowed = kCountOrNone,
       .fallback = {.text = "unset: any number, with a warning"},
       .meaning = "How many steps a worker may run ahead of the slowest. 0 is \"ps-sync\".",
       .effect = only_with_room_ahead()},
      {.table = "topology",
       .name = "correction",
       .field = field(&Job::topology, &Topology::correction),
       .fallback = {.text = "\"local\" where it has an effect; with \"ps-sync\" at a width above 1 `\"momentum\"`; "
                            "else `\"none\"`",
                    .fill = [](Job& job) { job.topology.correction = default_correction(job); }},
       .meaning = "What makes up for gradients computed at stale weights: nothing; weights predicted from the "
                  "optimizer's momentum, or from the worker's own gradients; or, \"dc\", a term added to the gradient "
                  "when it is applied.",
       .effect = only_with_stale_gradients(),
       .neutral = name(Correction::none)},
      {.table = "topology",
       .name = "dc_lambda",
       .field = field(&Job::topology, &Topology::dc_lambda),
       .allowed = kPositive,
       .meaning = "Delay compensation: gradient g becomes g + dc_lambda * g * g * (weights now - weights that g was "
                  "computed at).",
       .effect = only_with_delay_compensation()},
      {.table = "topology",
       .name = "codec",
       .field = field(&Job::topology, &Topology::codec),
       .meaning = "How gradients are put into bytes: as float32, rounded to bfloat16, or in blocks of 8-bit integers. "
                  "What rounding lost is added to the next gradient."},
      {.table = "topology",
       .name = "algorithm",
       .field = field(&Job::topology, &Topology::algorithm),
       .fallback = {.text = "`\"direct\"` with a codec, else `\"native\"`",
                    .fill = [](Job& job) { job.topology.algorithm = default_algorithm(job); }},
       .meaning = "How an AllReduce is done: in shared memory; by messages, where each worker sums its part of the "
                  "vector for all; or by messages around a ring. Between hosts \"native\" is \"direct\".",
       .effect = only_where_workers_reduce()},
      {.table = "topology",
       .name = "servers",
       .field = field(&Job::topology, &Topology::servers),
       .unit = "actors",
       .allowed = IntegerRange{1, 64},
       .meaning = "Parameter servers that the weights are split over.",
       .effect = only_with_parameter_servers()},
      {.table = "topology",
       .name = "server_node",
       .field = field(&Job::topology, &Topology::server_node),
       .allowed = StringForm::file_name,
       .fallback = {.text = "unset: the servers are spread over the nodes"},
       .meaning = "The name of the node that all parameter servers are on, in a run over nodes.",
       .effect = only_with_parameter_servers()},
  };
}

std::vector<Key> cluster_keys() {
  return {
      {.table = "cluster",
       .name = "join_timeout_seconds",
       .field = field(&Job::cluster, &Cluster::join_timeout_seconds),
       .unit = "seconds",
       .allowed = kSeconds,
       .meaning = "How long the driver waits for its nodes to join before the run fails."},
      {.table = "cluster",
       .name = "connect_timeout_seconds",
       .field = field(&Job::cluster, &Cluster::connect_timeout_seconds),
       .unit = "seconds",
       .allowed = kSeconds,
       .meaning = "How long the workers of all nodes try to connect with each other before the run fails."},
      {.table = "cluster",
       .name = "silence_seconds",
       .field = field(&Job::cluster, &Cluster::silence_seconds),
       .unit = "seconds",
       .allowed = kSeconds,
       .fallback = {.text = "`5.0`, or half of `run.exchange_timeout_seconds` where that is less",
                    .fill = [](Job& job) { job.cluster.silence_seconds = default_silence(job); }},
       .meaning = "A node that gives no sign of life for so long is lost, and the run fails. Shorter than an exchange "
                  "may wait, so that the run names the node that hangs rather than those that wait for it.",
       .effect = only_below_the_exchange_timeout()},
      {.table = "cluster",
       .name = "interface",
       .field = field(&Job::cluster, &Cluster::interface),
       .allowed = StringForm::file_name,
       .fallback = {.text = "unset: the one that leads to the driver"},
       .meaning = "The network interface of every node that gradients travel by."},
      {.table = "cluster",
       .name = "encrypt_data",
       .field = field(&Job::cluster, &Cluster::encrypt_data),
       .meaning = "Gradients travel encrypted, between workers that have proved who they are; for networks that are "
                  "not trusted."},
  };
}

std::vector<Key> all_keys() {
  std::vector<Key> keys;
  for (auto part :
       {run_keys, data_keys, model_keys, training_keys, optimizer_keys, schedule_keys, topology_keys, cluster_keys}) {
    for (Key& key : part()) keys.push_back(std::move(key));
  }
  return keys;
}

}  // namespace

const std::vector<Key>& schema() {
  static const std::vector<Key> keys = all_keys();
  return keys;
}

const Key* find_key(std::string_view table, std::string_view name) {
  const auto found = std::find_if(schema().begin(), schema().end(),
                                  [&](const Key& key) { return key.table == table && key.name == name; });
  return found == schema().end() ? nullptr : &*found;
}

bool is_table(std::string_view table) {
  return std::any_of(schema().begin(), schema().end(), [&](const Key& key) { return key.table == table; });
}

std::vector<std::string> tables() {
  std::vector<std::string> names;
  for (const Key& key : schema()) {
    if (names.empty() || names.back() != key.table) names.push_back(key.table);
  }
  return names;
}

}  // namespace tandem::config
