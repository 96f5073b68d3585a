#include "config/job_reader.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace tandem::config {
namespace {

using Overrides = std::vector<std::string>;

Job job_of(const std::string& text, const Overrides& overrides = {}) { return parse_job(text, "job.toml", overrides); }

TEST_CASE("an empty file is a job of all defaults") {
  Job expected;
  expected.run.name = "job";
  CHECK(job_of("") == expected);
  CHECK(job_of("# nothing\n[topology]\n") == expected);
}

TEST_CASE("every key reaches its member") {
  const Job job = job_of(R"(
    [run]
    name = "a.b_c-1"
    folder = "/tmp/out"
    report_seconds = 2
    evaluate_epochs = false
    exchange_timeout_seconds = 0.25
    [data]
    kind = "synthetic"
    samples = 11
    test_samples = 12
    channels = 3
    height = 13
    width = 14
    classes = 15
    [model]
    kind = "mlp"
    hidden = [16, 17, 18]
    [training]
    workers = 2
    batch = 19
    accumulate = 4
    epochs = 20
    steps = 21
    seed = 22
    threads = 3
    [optimizer]
    kind = "sgd"
    lr = 0.5
    momentum = 0.25
    nesterov = true
    weight_decay = 0.125
    clip_norm = 4.0
    [schedule]
    kind = "step"
    warmup_steps = 23
    interval = 24
    factor = 0.75
    [topology]
    name = "allreduce"
    width = 3
    warmup_steps = 25
    correction = "momentum"
    codec = "int8"
    algorithm = "ring"
  )");
  const Run run{"a.b_c-1", "/tmp/out", 2.0, false, 0.25};
  const Training training{2, 19, 4, 20, 21, 22, 3};
  const Topology topology{.kind = TopologyKind::allreduce,
                          .width = 3,
                          .warmup_steps = 25,
                          .correction = Correction::momentum,
                          .algorithm = Algorithm::ring,
                          .codec = Codec::int8};
  CHECK(job.run == run);
  CHECK(job.data == Data{.kind = DataKind::synthetic,
                         .samples = 11,
                         .test_samples = 12,
                         .channels = 3,
                         .height = 13,
                         .width = 14,
                         .classes = 15});
  CHECK(job.model == Model{ModelKind::mlp, {16, 17, 18}});
  CHECK(job.training == training);
  CHECK(job.optimizer ==
        Optimizer{.lr = 0.5, .momentum = 0.25, .nesterov = true, .weight_decay = 0.125, .clip_norm = 4});
  CHECK(job.schedule == Schedule{.kind = ScheduleKind::step, .warmup_steps = 23, .interval = 24, .factor = 0.75});
  CHECK(job.topology == topology);

  const Job other = job_of(R"(
    [data]
    folder = "data"
    mean = 0.5
    deviation = 1
    [optimizer]
    kind = "adamw"
    beta1 = 0.5
    beta2 = 0.75
    epsilon = 0.001
    [schedule]
    kind = "cosine"
    final_share = 0.5
    [topology]
    name = "ps-async"
    staleness = 26
    correction = "dc"
    dc_lambda = 0.125
    servers = 5
  )");
  CHECK(other.topology == Topology{.kind = TopologyKind::ps_async,
                                   .width = 1,
                                   .correction = Correction::dc,
                                   .dc_lambda = 0.125,
                                   .servers = 5,
                                   .staleness = 26});
  CHECK(other.data == Data{.folder = "data", .mean = 0.5, .deviation = 1});
  CHECK(other.optimizer ==
        Optimizer{.kind = OptimizerKind::adamw, .momentum = 0, .beta1 = 0.5, .beta2 = 0.75, .epsilon = 0.001});
  CHECK(other.schedule == Schedule{.kind = ScheduleKind::cosine, .final_share = 0.5});
}

TEST_CASE("width and correction have defaults that suit the topology") {
  const auto topology_of = [](const std::string& text) { return job_of("[topology]\n" + text).topology; };
  CHECK(topology_of("").width == 2);
  CHECK(topology_of("").correction == Correction::local);
  CHECK(topology_of("name = 'allreduce'").width == 1);
  CHECK(topology_of("name = 'allreduce'").correction == Correction::none);
  CHECK(topology_of("name = 'allreduce'\nwidth = 4").correction == Correction::local);
  CHECK(topology_of("name = 'pipeline'\nwidth = 1").correction == Correction::none);
}

TEST_CASE("a setting without effect holds a value that says so") {
  CHECK(job_of("[optimizer]\nkind = 'adam'").optimizer.momentum == 0);
  CHECK_FALSE(job_of("[optimizer]\nkind = 'adam'").optimizer.nesterov);
  CHECK(job_of("[model]\nkind = 'softmax'").model.hidden.empty());
  CHECK(job_of("[topology]\nwidth = 1").topology.warmup_steps == 0);
}

TEST_CASE("the run is named after the file unless it has a name") {
  CHECK(parse_job("", "/some/where/my-run.v2.toml").run.name == "my-run.v2");
  CHECK(parse_job("run.name = 'x'", "my run.toml").run.name == "x");
  CHECK_THROWS_WITH(parse_job("", "my run.toml"), Catch::StartsWith("my run.toml: run.name: its default") &&
                                                      Catch::Contains("\"my run\"") && Catch::Contains("allowed:"));
}

TEST_CASE("every way to write a table in TOML works") {
  CHECK(job_of("topology.width = 3").topology.width == 3);
  CHECK(job_of("topology = { width = 3 }").topology.width == 3);
  CHECK(job_of("[topology]\r\nwidth = 3\r\n").topology.width == 3);
  CHECK(job_of("\xEF\xBB\xBF[topology]\nwidth = 3").topology.width == 3);
  CHECK(job_of("[ topology ]\n\"width\" = 0x3").topology.width == 3);
  CHECK(job_of("[model]\nhidden = [\n  1_000, # first\n  50,\n]").model.hidden == std::vector<std::int64_t>{1000, 50});
}

TEST_CASE("an override replaces the file's value, and the last one wins") {
  CHECK(job_of("[topology]\nwidth = 4", {"topology.width=3"}).topology.width == 3);
  CHECK(job_of("", {"topology.width=3", "topology.width=5"}).topology.width == 5);
  CHECK(job_of("", {" topology.width = 3 "}).topology.width == 3);
}

TEST_CASE("an override takes TOML values, and plain text where a string is wanted") {
  CHECK(job_of("", {"topology.name=allreduce"}).topology.kind == TopologyKind::allreduce);
  CHECK(job_of("", {"topology.name=\"allreduce\""}).topology.kind == TopologyKind::allreduce);
  CHECK(job_of("", {"run.name=my-run"}).run.name == "my-run");
  CHECK(job_of("", {"run.name=2024"}).run.name == "2024");
  CHECK(job_of("", {"data.folder=/a/b=c \\ d"}).data.folder == "/a/b=c \\ d");
  CHECK(job_of("", {"data.folder='/a b'"}).data.folder == "/a b");
  CHECK(job_of("", {"model.hidden=[100, 50]"}).model.hidden == std::vector<std::int64_t>{100, 50});
  CHECK(job_of("", {"run.evaluate_epochs=false"}).run.evaluate_epochs == false);
  CHECK(job_of("", {"optimizer.lr=1e-3"}).optimizer.lr == 1e-3);
  CHECK(job_of("", {"optimizer.lr=1"}).optimizer.lr == 1.0);
  CHECK(job_of("", {"training.seed=9223372036854775807"}).training.seed == 9223372036854775807U);
}

TEST_CASE("a job is read from a file, and what cannot be read is named") {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("tandem-job-reader-test-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const std::filesystem::path file = folder / "small.toml";
  std::ofstream(file) << "[topology]\nwidth = 3\n";
  CHECK(read_job(file).topology.width == 3);
  CHECK(read_job(file).run.name == "small");

  const std::filesystem::path missing = folder / "missing.toml";
  CHECK_THROWS_WITH(read_job(missing), missing.string() + ": cannot open this job file: No such file or directory");
  CHECK_THROWS_WITH(read_job(folder), folder.string() + ": found a directory; allowed: a job file");
  CHECK_THROWS_WITH(read_job("/dev/zero"), Catch::Contains("/dev/zero: found more than 32768 bytes"));
  std::filesystem::remove_all(folder);
}

TEST_CASE("every example is a job") {
  int examples = 0;
  for (const auto& entry : std::filesystem::directory_iterator(TANDEM_SOURCE_DIR "/config/examples")) {
    INFO(entry.path());
    CHECK(entry.path().extension() == ".toml");
    CHECK_NOTHROW(read_job(entry.path()));
    ++examples;
  }
  CHECK(examples >= 4);
}

TEST_CASE("the main example is the job that the README tells of") {
  const Job job = read_job(TANDEM_SOURCE_DIR "/config/examples/fashion-mnist.toml");
  Job expected;
  expected.run.name = "fashion-mnist";
  expected.schedule.kind = ScheduleKind::cosine;
  CHECK(job == expected);
}

}  // namespace
}  // namespace tandem::config
