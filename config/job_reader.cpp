#include "config/job_reader.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include "config/override.h"
#include "config/schema.h"
#include "config/suggestion.h"
#include "config/toml_document.h"

// How a job comes about:
//   1. The file's settings and the overrides are each checked alone: known key, type, allowed value.
//   2. resolve() turns settings into a job, in the order of the schema, and sets aside those without effect.
//   3. It does so twice: with the file's settings alone, and with the overrides on top. A setting of the file that has
//      an effect alone but none below the overrides is dropped; any other without effect is an error.
namespace tandem::config {
namespace {

enum class Source { file, command_line };

/// A setting that passed the checks that need no other.
struct Given {
  const Key* key;
  Value value;
  std::string where;
  Source source;
};

/// The last setting of each key.
using Settings = std::map<const Key*, const Given*>;

struct Ineffective {
  const Given* given;
  std::string why;
};

struct Resolution {
  Job job;
  std::vector<Ineffective> ineffective;
};

[[noreturn]] void fail(const std::string& where, const std::string& message) { throw JobError(where + ": " + message); }

std::string assignment(const Given& given) { return path(*given.key) + " = " + printable(toml_text(given.value)); }

/// Null for a known table itself.
const Key* known_key(const Setting& setting) {
  if (setting.table && !is_table(*setting.table)) fail(setting.where, unknown_table_message(*setting.table));
  if (!setting.name) return nullptr;
  if (!setting.table && is_table(*setting.name)) {
    fail(setting.where, not_a_key_message(*setting.name, setting.found.description));
  }
  const Key* key = setting.table ? find_key(*setting.table, *setting.name) : nullptr;
  if (!key) fail(setting.where, unknown_key_message(setting.table, *setting.name));
  return key;
}

Value checked_value(const Key& key, const Setting& setting) {
  const std::optional<Value> value = setting.found.value ? accepted(key, *setting.found.value) : std::nullopt;
  if (!value) {
    fail(setting.where, path(key) + ": found " + setting.found.description + "; allowed: " + allowed_text(key));
  }
  return *value;
}

void add(std::vector<Given>& all, const Setting& setting, Source source) {
  if (const Key* key = known_key(setting)) all.push_back({key, checked_value(*key, setting), setting.where, source});
}

Settings last_settings(const std::vector<Given>& all) {
  Settings last;
  for (const Given& given : all) last[given.key] = &given;
  return last;
}

/// `start` has the values of keys that are not given and have no default of their own.
Resolution resolve(const Settings& settings, const Job& start) {
  Resolution result{start, {}};
  for (const Key& key : schema()) {
    if (const auto found = settings.find(&key); found != settings.end()) {
      const Given& given = *found->second;
      Job job = result.job;
      key.field.set(job, given.value);
      const std::string why = why_no_effect(key, job);
      if (why.empty() || given.value == key.neutral) {
        result.job = std::move(job);
        continue;
      }
      result.ineffective.push_back({&given, why});
    }
    if (key.fallback.fill) key.fallback.fill(result.job);
    if (key.neutral && !why_no_effect(key, result.job).empty()) key.field.set(result.job, *key.neutral);
  }
  return result;
}

/// Drops what the file chose for a value that the overrides replaced: the width, where they name another topology.
void drop_choices(Settings& settings, const Job& file_job, std::vector<std::string>& notes) {
  for (const Key& key : schema()) {
    const auto chosen = settings.find(&key);
    if (key.chosen_for.empty() || chosen == settings.end() || chosen->second->source == Source::command_line) continue;
    const Key& other = *find_key(key.table, key.chosen_for);
    const auto decisive = settings.find(&other);
    if (decisive == settings.end() || other.field.get(file_job) == decisive->second->value) continue;
    notes.push_back(chosen->second->where + ": " + assignment(*chosen->second) + " is dropped: it was chosen for " +
                    path(other) + " = " + toml_text(*other.field.get(file_job)) + ", and " + decisive->second->where +
                    " replaces that");
    settings.erase(chosen);
  }
}

/// Throws for the first setting without effect that the overrides cannot be blamed for; notes the others.
void judge(std::vector<Ineffective> ineffective, const std::vector<Ineffective>& ineffective_in_file,
           std::vector<std::string>& notes) {
  // Settings lie in one vector, so their addresses have the order of the text.
  std::sort(ineffective.begin(), ineffective.end(),
            [](const Ineffective& a, const Ineffective& b) { return a.given < b.given; });
  for (const auto& [given, why] : ineffective) {
    const bool dropped =
        given->source == Source::file &&
        std::none_of(ineffective_in_file.begin(), ineffective_in_file.end(),
                     [&, key = given->key](const Ineffective& other) { return other.given->key == key; });
    if (!dropped) fail(given->where, path(*given->key) + " has no effect " + why);
    notes.push_back(given->where + ": " + assignment(*given) + " is dropped: it has no effect " + why);
  }
}

void check_name(const Settings& settings, const Job& job, const std::string& origin) {
  const Key& name = *find_key("run", "name");
  if (settings.contains(&name) || accepted(name, job.run.name)) return;
  fail(origin, path(name) + ": its default, the file's name without extension, is " + described(job.run.name) +
                   "; allowed: " + allowed_text(name));
}

std::string read_text(const std::filesystem::path& file) {
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) fail(file.string(), "found a directory; allowed: a job file");
  std::ifstream stream(file, std::ios::binary);
  if (!stream) fail(file.string(), "cannot open this job file: " + std::generic_category().message(errno));
  std::string text(kLongestDocument + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.bad()) fail(file.string(), "cannot read this job file: " + std::generic_category().message(errno));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return text;
}

}  // namespace

Job parse_job(const std::string& text, const std::string& origin, std::span<const std::string> overrides,
              std::vector<std::string>* notes) {
  std::vector<Given> file;
  for (const Setting& setting : read_document(text, origin)) add(file, setting, Source::file);
  std::vector<Given> all = file;
  for (const std::string& assigned : overrides) add(all, read_override(assigned), Source::command_line);

  Job start;
  start.run.name = std::filesystem::path(origin).stem().string();
  const Resolution alone = resolve(last_settings(file), start);
  std::vector<std::string> dropped;
  Settings settings = last_settings(all);
  drop_choices(settings, alone.job, dropped);
  const Resolution resolution = resolve(settings, start);
  judge(resolution.ineffective, alone.ineffective, dropped);
  check_name(settings, resolution.job, origin);
  if (notes) notes->insert(notes->end(), dropped.begin(), dropped.end());
  return resolution.job;
}

Job read_job(const std::filesystem::path& file, std::span<const std::string> overrides,
             std::vector<std::string>* notes) {
  return parse_job(read_text(file), file.string(), overrides, notes);
}

}  // namespace tandem::config
