#pragma once

#include <string>

#include "config/toml_document.h"

namespace tandem::config {

/// The setting that KEY=VALUE stands for, as job_reader.h describes it. Throws JobError where there is no '='; the key
/// may be unknown and the value of the wrong form.
Setting read_override(const std::string& text);

}  // namespace tandem::config
