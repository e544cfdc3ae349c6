// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>

#include "harness/cli/installation.h"
#include "harness/prompt/prompt.h"

/// What `prompt`, `generate` and `run` have in common: how a model is asked.
namespace pkb::cli {

struct PromptOptions {
  std::string style = "zero-shot", hardware = "h200x8", dtype = "bf16", templates;
  bool primitives = false;
};

void add_prompt_options(CLI::App& command, PromptOptions& options);

/// @throws InputError
prompt::Options resolve(const PromptOptions& options);
prompt::Sources sources(const Installation& installation, const PromptOptions& options);

}  // namespace pkb::cli
