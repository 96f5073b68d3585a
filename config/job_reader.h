#pragma once

#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "config/job.h"

namespace tandem::config {

/// What is wrong with a job file or an override. what() says where (file and line, or the override), which key,
/// what was found and what is allowed; the program ends with exit status 2.
class JobError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Reads, overrides and validates a job. `overrides` are KEY=VALUE with a dotted key and a TOML value; for a key that
/// holds a string, any text that does not begin with a quote is that string. Later overrides win.
///
/// A setting of the file that only the overrides made ineffective is dropped, and a sentence for the user that says so
/// is appended to `notes`, if given. Throws JobError; nothing else is thrown and nothing but the file is read.
Job read_job(const std::filesystem::path& file, std::span<const std::string> overrides = {},
             std::vector<std::string>* notes = nullptr);

/// The same from text; `origin` stands for the file's name, in errors and as the default of run.name.
Job parse_job(const std::string& text, const std::string& origin, std::span<const std::string> overrides = {},
              std::vector<std::string>* notes = nullptr);

/// The effective configuration as TOML: every key that has an effect in this job, defaults spelled out,
/// and a comment for a key that is unset.
/// parse_job(to_toml(job)) gives the same job.
std::string to_toml(const Job& job);

}  // namespace tandem::config
