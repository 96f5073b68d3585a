#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <vector>

#include "config/job_reader.h"
#include "config/schema.h"

namespace tandem::config {
namespace {

using namespace std::string_literals;

class RandomJobs {
 public:
  explicit RandomJobs(unsigned seed) : random_(seed) {}

  /// A job file that sets about half of the keys that have an effect.
  std::string text() {
    Job job;
    std::string text;
    for (const Key& key : schema()) {
      const Value value = value_for(key);
      Job with = job;
      key.field.set(with, value);
      if (below(2) == 0 || !why_no_effect(key, with).empty()) {
        if (key.fallback.fill) key.fallback.fill(job);
        if (key.neutral && !why_no_effect(key, job).empty()) key.field.set(job, *key.neutral);
        continue;
      }
      job = with;
      text += path(key) + " = " + toml_text(value) + "\n";
    }
    return text;
  }

 private:
  std::uint64_t below(std::uint64_t limit) {
    return std::uniform_int_distribution<std::uint64_t>(0, limit - 1)(random_);
  }

  std::int64_t integer(const IntegerRange& range) {
    return std::uniform_int_distribution<std::int64_t>(range.least, range.most)(random_);
  }

  /// Most such numbers need all 17 digits.
  double number(const NumberRange& range) {
    const double share = std::uniform_real_distribution<double>(1e-9, 1)(random_);
    return range.least + (range.most - range.least) * share;
  }

  std::string string(StringForm form) {
    const std::string letters = form == StringForm::path ? "ab/ \\\"'#=.\xC3\xA4" : "aZ09._-";
    std::string text = "x";
    // The two bytes of the last letter of paths stay together.
    for (std::uint64_t i = below(20); i > 0; --i) {
      const std::size_t at = below(letters.size());
      text += static_cast<unsigned char>(letters[at]) < 0x80 ? letters.substr(at, 1) : "\xC3\xA4";
    }
    return text;
  }

  Value value_for(const Key& key) {
    if (key.field.type == Type::boolean) return below(2) == 1;
    if (key.field.type == Type::word) return key.field.words[below(key.field.words.size())];
    if (const auto* range = std::get_if<IntegerRange>(&key.allowed)) return integer(*range);
    if (const auto* range = std::get_if<NumberRange>(&key.allowed)) return number(*range);
    if (const auto* form = std::get_if<StringForm>(&key.allowed)) return string(*form);
    const ListRange& range = std::get<ListRange>(key.allowed);
    std::vector<std::int64_t> list(static_cast<std::size_t>(integer({range.shortest, range.longest})));
    for (std::int64_t& element : list) element = integer(range.elements);
    return list;
  }

  std::mt19937_64 random_;
};

TEST_CASE("the effective configuration of any job is that job") {
  CAPTURE(Catch::rngSeed());
  RandomJobs jobs(Catch::rngSeed());
  for (int i = 0; i < 500; ++i) {
    const std::string text = jobs.text();
    INFO(text);
    const Job job = parse_job(text, "job.toml");
    const std::string effective = to_toml(job);
    INFO(effective);
    CHECK(parse_job(effective, "other.toml") == job);
    CHECK(to_toml(parse_job(effective, "other.toml")) == effective);
  }
}

TEST_CASE("damaged text gives a job or a JobError, and nothing else") {
  CAPTURE(Catch::rngSeed());
  std::mt19937_64 random(Catch::rngSeed());
  const auto below = [&](std::size_t limit) {
    return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random);
  };
  const std::string bytes = "[]{}\"'=.,#\\\n\r\t \0\x7f\xff\xc3 0e-_xtnai"s;
  const std::string sound = to_toml(parse_job("", "job.toml"));
  int errors = 0;
  for (int i = 0; i < 1000; ++i) {
    std::string text = sound;
    for (std::size_t damage = below(4) + 1; damage > 0; --damage) {
      const std::size_t at = below(text.size());
      text.replace(at, below(2), 1, bytes[below(bytes.size())]);
    }
    INFO(text);
    try {
      const Job job = parse_job(text, "job.toml");
      CHECK(parse_job(to_toml(job), "job.toml") == job);
    } catch (const JobError& error) {
      CHECK_THAT(error.what(), Catch::StartsWith("job.toml:"));
      ++errors;
    }
  }
  CHECK(errors > 100);
}

TEST_CASE(
    "the effective configuration spells defaults out, comments on what is unset and leaves out what has no effect") {
  CHECK(to_toml(parse_job("", "job.toml")) ==
        "[run]\n"
        "name = \"job\"\n"
        "folder = \"runs\"\n"
        "report_seconds = 1.0\n"
        "evaluate_epochs = true\n"
        "exchange_timeout_seconds = 60.0\n"
        "\n"
        "[data]\n"
        "kind = \"idx\"\n"
        "folder = \"/usr/share/datasets/fashion-mnist\"\n"
        "mean = 0.286\n"
        "deviation = 0.353\n"
        "\n"
        "[model]\n"
        "kind = \"mlp\"\n"
        "hidden = [500, 500]\n"
        "\n"
        "[training]\n"
        "workers = 4\n"
        "batch = 64\n"
        "accumulate = 1\n"
        "epochs = 5\n"
        "# steps = unset: `training.epochs` alone decides\n"
        "seed = 1\n"
        "# threads = unset: the machine's cores shared between the workers, at least one each\n"
        "\n"
        "[optimizer]\n"
        "kind = \"sgd\"\n"
        "lr = 0.05\n"
        "momentum = 0.9\n"
        "nesterov = false\n"
        "weight_decay = 0.0\n"
        "# clip_norm = unset: no clipping\n"
        "\n"
        "[schedule]\n"
        "kind = \"constant\"\n"
        "warmup_steps = 0\n"
        "\n"
        "[topology]\n"
        "name = \"pipeline\"\n"
        "width = 2\n"
        "warmup_steps = 0\n"
        "correction = \"local\"\n"
        "codec = \"none\"\n"
        "algorithm = \"native\"\n"
        "\n"
        "[cluster]\n"
        "join_timeout_seconds = 300.0\n"
        "connect_timeout_seconds = 30.0\n"
        "silence_seconds = 5.0\n"
        "# interface = unset: the one that leads to the driver\n"
        "encrypt_data = false\n");
}

TEST_CASE("numbers are printed with as few digits as give them back") {
  const auto line = [](const std::string& lr) { return to_toml(parse_job("optimizer.lr = " + lr, "job.toml")); };
  CHECK_THAT(line("0.05"), Catch::Contains("\nlr = 0.05\n"));
  CHECK_THAT(line("5e-2"), Catch::Contains("\nlr = 0.05\n"));
  CHECK_THAT(line("1"), Catch::Contains("\nlr = 1.0\n"));
  CHECK_THAT(line("1e-10"), Catch::Contains("\nlr = 1e-10\n"));
  CHECK_THAT(line("0.00000001"), Catch::Contains("\nlr = 1e-8\n"));
  CHECK_THAT(line("1e6"), Catch::Contains("\nlr = 1e6\n"));
  CHECK_THAT(line("0.1000000000000000055"), Catch::Contains("\nlr = 0.1\n"));
  CHECK_THAT(line("0.30000000000000004"), Catch::Contains("\nlr = 0.30000000000000004\n"));
}

}  // namespace
}  // namespace tandem::config
