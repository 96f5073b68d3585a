#include <catch2/catch.hpp>
#include <string>

#include "config/job_error.h"

namespace tandem::config {
namespace {

using Catch::Contains;
using Catch::Equals;
using Catch::StartsWith;

TEST_CASE("a misspelled key is named with its place and the nearest key") {
  CHECK_THAT(error_of("# a job\n[topology]\nname = 'pipeline'\n  widht = 2\n"),
             Equals("job.toml:4:3: unknown key topology.widht\n"
                    "  nearest known key: topology.width\n"
                    "  keys of [topology]: name, width, warmup_steps, staleness, correction, dc_lambda, codec, "
                    "algorithm, servers and server_node"));
  CHECK_THAT(error_of("[topology]\nquantizaton = \"int8\""),
             Equals("job.toml:2:1: unknown key topology.quantizaton\n"
                    "  nearest known key, though not similar: topology.name\n"
                    "  keys of [topology]: name, width, warmup_steps, staleness, correction, dc_lambda, codec, "
                    "algorithm, servers and server_node"));
  CHECK_THAT(error_of("epoch = 3"), StartsWith("job.toml:1:1: unknown key epoch outside of any table\n"
                                               "  nearest known key: training.epochs\n"));
}

TEST_CASE("a key in the wrong table is told where it belongs") {
  CHECK_THAT(error_of("[optimizer]\nepochs = 3"),
             StartsWith("job.toml:2:1: unknown key optimizer.epochs\n  epochs belongs in [training]\n"));
  CHECK_THAT(error_of("width = 3"), StartsWith("job.toml:1:1: unknown key width outside of any table\n"
                                               "  width belongs in [data] or [topology]\n"));
}

TEST_CASE("an unknown table is named with the nearest one, also if it is empty") {
  const std::string expected =
      "job.toml:2:2: unknown table [topolgy]\n"
      "  nearest known table: [topology]\n"
      "  known tables: run, data, model, training, optimizer, schedule, topology and cluster";
  CHECK_THAT(error_of("\n[topolgy]\n"), Equals(expected));
  CHECK_THAT(error_of("\n[topolgy]\nwidth = 2"), Equals(expected));
}

TEST_CASE("something else in a table's place is an error") {
  CHECK_THAT(error_of("topology = 3"), StartsWith("job.toml:1:1: topology is a table, not a key: found the integer 3\n"
                                                  "  keys of [topology]: name, "));
  CHECK_THAT(error_of("[[topology]]\nwidth = 3\n[[topology]]"), Contains("found an array of tables"));
  CHECK_THAT(error_of("[topology.width]\nx = 1"), Equals("job.toml:1:11: topology.width: found a table; allowed: an "
                                                         "integer from 1 to 8"));
}

TEST_CASE("a duplicate key or table is an error with its line") {
  CHECK_THAT(error_of("[topology]\nwidth = 2\nwidth = 3"),
             StartsWith("job.toml:3:9: not valid TOML: ") && Contains("cannot redefine existing integer 'width'"));
  CHECK_THAT(error_of("[run]\n[data]\n[run]"), StartsWith("job.toml:3:1: not valid TOML: "));
}

TEST_CASE("a value of the wrong type or out of range is named with what is allowed") {
  const auto [text, expected] = GENERATE(table<std::string, std::string>({
      {"topology.width = '2'", "topology.width: found the string \"2\"; allowed: an integer from 1 to 8"},
      {"topology.width = 2.0", "topology.width: found the number 2.0; allowed: an integer from 1 to 8"},
      {"topology.width = true", "topology.width: found the boolean true; allowed: an integer from 1 to 8"},
      {"topology.width = 0", "topology.width: found the integer 0; allowed: an integer from 1 to 8"},
      {"topology.width = 9", "topology.width: found the integer 9; allowed: an integer from 1 to 8"},
      {"topology.width = 9223372036854775807",
       "topology.width: found the integer 9223372036854775807; allowed: an integer from 1 to 8"},
      {"topology.width = [2]", "topology.width: found the list [2]; allowed: an integer from 1 to 8"},
      {"topology.width = 1979-05-27", "topology.width: found a date or time; allowed: an integer from 1 to 8"},
      {"topology.name = 'ring'",
       "topology.name: found the string \"ring\"; allowed: \"ps-sync\", \"ps-async\", \"allreduce\" or \"pipeline\""},
      {"topology.name = ''",
       "topology.name: found the string \"\"; allowed: \"ps-sync\", \"ps-async\", \"allreduce\" or \"pipeline\""},
      {"optimizer.kind = 1", "optimizer.kind: found the integer 1; allowed: \"sgd\", \"adam\" or \"adamw\""},
      {"optimizer.lr = 0", "optimizer.lr: found the integer 0; allowed: a number above 0.0 and at most 1e6"},
      {"optimizer.lr = -1.5", "optimizer.lr: found the number -1.5; allowed: a number above 0.0 and at most 1e6"},
      {"optimizer.lr = nan", "optimizer.lr: found the number nan; allowed: a number above 0.0 and at most 1e6"},
      {"optimizer.lr = inf", "optimizer.lr: found the number inf; allowed: a number above 0.0 and at most 1e6"},
      {"data.mean = -inf", "data.mean: found the number -inf; allowed: a number at least -1e6 and at most 1e6"},
      {"optimizer.epsilon = 1e-46",
       "optimizer.epsilon: found the number 1e-46; allowed: a number at least 1e-30 and at most 1.0"},
      {"optimizer.momentum = 1",
       "optimizer.momentum: found the integer 1; allowed: a number at least 0.0 and below 1.0"},
      {"run.evaluate_epochs = 1", "run.evaluate_epochs: found the integer 1; allowed: true or false"},
      {"training.seed = -1", "training.seed: found the integer -1; allowed: an integer from 0 to 9223372036854775807"},
      {"model.hidden = []",
       "model.hidden: found the list []; allowed: a list of 1 to 16 integers, each from 1 to 65536"},
      {"model.hidden = [5, 0]",
       "model.hidden: found the list [5, 0]; allowed: a list of 1 to 16 integers, each from 1 to 65536"},
      {"model.hidden = 500",
       "model.hidden: found the integer 500; allowed: a list of 1 to 16 integers, each from 1 to 65536"},
      {"model.hidden = [5, 'x']",
       "model.hidden: found a list whose element 2 is the string \"x\"; allowed: a list of 1 to 16 integers, each from "
       "1 to 65536"},
      {"model.hidden = [[5]]",
       "model.hidden: found a list whose element 1 is a list; allowed: a list of 1 to 16 integers, each from 1 to "
       "65536"},
      {"data.folder = \"a\\u0000b\"",
       "data.folder: found the string \"a\\u0000b\"; allowed: a path: not empty, no control characters"},
  }));
  const std::string column = std::to_string(text.find('.') + 2);
  CHECK_THAT(error_of(text), Equals("job.toml:1:" + column + ": " + expected));
}

TEST_CASE("a run's name is one part of a path") {
  const auto name = GENERATE("", ".", "..", "a/b", "a b", "\\u00e4", "a\\n");
  CHECK_THAT(error_of("run.name = \"" + std::string(name) + "\""),
             StartsWith("job.toml:1:5: run.name: found the string ") && Contains("allowed: a name"));
  CHECK_THAT(error_of("run.name = '" + std::string(201, 'a') + "'"), Contains("1 to 200 letters"));
}

TEST_CASE("the first wrong key or value of the file is reported, then the first setting without effect") {
  CHECK_THAT(error_of("[training]\nworkers = 0\n[data]\nkindd = 1\n[aaa]\n"),
             StartsWith("job.toml:2:1: training.workers"));
  CHECK_THAT(error_of("[topology]\nstaleness = 1\n[optimizer]\nbeta1 = 0.5\n"),
             StartsWith("job.toml:2:1: topology.stale"));
  CHECK_THAT(error_of("[topology]\nstaleness = 1\n[training]\nworkers = 0\n"),
             StartsWith("job.toml:4:1: training.workers"));
}

TEST_CASE("text that is not TOML is an error with its line and column") {
  const auto [text, where] = GENERATE(table<std::string, std::string>({
      {"[topology]\nwidth = ", "job.toml:2:"},
      {"[topology\n", "job.toml:1:"},
      {"[topology]\nwidth = 99999999999999999999", "job.toml:2:"},
      {"[optimizer]\nlr = 1e999", "job.toml:2:"},
      {"\n\nrun.folder = \"\xff\xfe\"", "job.toml:3:"},
      {"run.folder = \"never closed", "job.toml:1:"},
      {"a = 1 b = 2", "job.toml:1:"},
      {"data = {\nkind = 'idx' }", "job.toml:1:"},
      {std::string("a = 1\0", 6), "job.toml:1:"},
      {"\xff\xfe[\0t\0", "job.toml:1:"},
  }));
  INFO(text);
  CHECK_THAT(error_of(text), StartsWith(where) && Contains(": not valid TOML: "));
}

TEST_CASE("hostile text is an error, not a crash") {
  const auto repeated = [](const std::string& part, std::size_t times) {
    std::string text;
    for (std::size_t i = 0; i < times; ++i) text += part;
    return text;
  };
  CHECK_THAT(error_of(repeated("# 10 MB\n", 1'250'000)), StartsWith("job.toml: found more than 32768 bytes"));
  CHECK_THAT(error_of("a" + repeated(".a", 16'000) + " = 1"), StartsWith("job.toml:1:1: unknown table [a]"));
  CHECK_THAT(error_of("[a" + repeated(".a", 16'000) + "]"), StartsWith("job.toml:1:2: unknown table [a]"));
  CHECK_THAT(error_of("model.hidden = " + repeated("[", 16'000)), Contains("not valid TOML"));
  CHECK_THAT(error_of("model.hidden = " + repeated("[", 200) + repeated("]", 200)), Contains("element 1 is a list"));
  CHECK_THAT(error_of("model.hidden = [" + repeated("1,", 16'000) + "]"), Contains("found the list [1, 1, "));
  CHECK(error_of(repeated("k", 30'000) + " = 1").size() < 1000);
  CHECK(error_of("run.name = '" + repeated("n", 30'000) + "'").size() < 1000);
  CHECK(error_of("", {"topology.width=" + repeated("[", 100'000)}).size() < 1000);
  CHECK(error_of("", {repeated("a.", 100'000) + "=1"}).size() < 1000);
}

TEST_CASE("odd key names are shown as TOML writes them") {
  CHECK_THAT(error_of("\"\" = 1"), StartsWith("job.toml:1:1: unknown key \"\" outside of any table"));
  CHECK_THAT(error_of("[topology]\n\"a.b\" = 1"), StartsWith("job.toml:2:1: unknown key topology.\"a.b\"\n"));
  CHECK_THAT(error_of("[topology]\n'say \"x\"' = 1"),
             StartsWith("job.toml:2:1: unknown key topology.\"say \\\"x\\\"\""));
  CHECK_THAT(error_of("[\"topology.width\"]"), StartsWith("job.toml:1:2: unknown table [\"topology.width\"]"));
  CHECK_THAT(error_of("[\"\"]"), StartsWith("job.toml:1:2: unknown table [\"\"]"));
  CHECK_THAT(error_of("[\"\"]\nx = 1"), StartsWith("job.toml:1:2: unknown table [\"\"]"));
  CHECK_THAT(error_of("\"topology.width\" = 3"), StartsWith("job.toml:1:1: unknown key \"topology.width\" outside"));
}

TEST_CASE("an override's error names the override") {
  const auto [text, expected] = GENERATE(table<std::string, std::string>({
      {"topology.width", "--set topology.width: found no '='; allowed: KEY=VALUE, as in topology.width=3"},
      {"topology.width=x",
       "--set topology.width=x: topology.width: found x, which is not a TOML value; allowed: an integer from 1 to 8"},
      {"topology.width=", "--set topology.width=: topology.width: found nothing; allowed: an integer from 1 to 8"},
      {"topology.width=9",
       "--set topology.width=9: topology.width: found the integer 9; allowed: an integer from 1 to 8"},
      {"topology.width=3\nname = 1",
       "--set topology.width=3\\u000Aname = 1: topology.width: found 3\\u000Aname = 1, which is not a TOML value; "
       "allowed: an integer from 1 to 8"},
      {"topology.name=ring",
       "--set topology.name=ring: topology.name: found the string \"ring\"; allowed: \"ps-sync\", \"ps-async\", "
       "\"allreduce\" or \"pipeline\""},
      {"model.hidden=[100, x]",
       "--set model.hidden=[100, x]: model.hidden: found [100, x], which is not a TOML value; allowed: a list of 1 to "
       "16 "
       "integers, each from 1 to 65536"},
  }));
  CHECK_THAT(error_of("", {text}), Equals(expected));
  CHECK_THAT(error_of("", {"topology.widht=3"}), StartsWith("--set topology.widht=3: unknown key topology.widht\n"
                                                            "  nearest known key: topology.width\n"));
  CHECK_THAT(error_of("", {"width=3"}), Contains("width belongs in [data] or [topology]"));
  CHECK_THAT(error_of("", {"topolgy.width=3"}), StartsWith("--set topolgy.width=3: unknown table [topolgy]\n"));
  CHECK_THAT(error_of("", {"topology=3"}), StartsWith("--set topology=3: topology is a table, not a key"));
  CHECK_THAT(error_of("", {"=3"}), StartsWith("--set =3: unknown key \"\" outside of any table"));
  CHECK_THAT(error_of("", {"topology.width.x=3"}),
             StartsWith("--set topology.width.x=3: unknown key topology.\"width.x\""));
  CHECK_THAT(error_of("", {"run.folder=\xff"}), Contains("which is not a TOML value"));
  CHECK_THAT(error_of("", {"run.folder=\"open"}), Contains("found \"open, which is not a TOML value"));
}

TEST_CASE("an override does not hide what is wrong with the file") {
  CHECK_THAT(error_of("topology.width = 99", {"topology.width=2"}), StartsWith("job.toml:1:10: topology.width"));
}

}  // namespace
}  // namespace tandem::config
