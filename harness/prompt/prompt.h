// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "harness/problem/problem.h"
#include "harness/roofline/hardware.h"

/// What a model is asked, from the templates in prompts/ and a problem's own files.
namespace pkb::prompt {

enum class Style : std::uint8_t { zero_shot, one_shot, few_shot };

/// Where templates and texts come from.
struct Sources {
  std::filesystem::path problems;   ///< the folder of all problems: examples come from there
  std::filesystem::path templates;  ///< prompts/
  std::filesystem::path own;        ///< replaces templates file by file; may be empty
  std::filesystem::path headers;    ///< harness/candidate/include: what candidates may include
};

struct Options {
  Style style = Style::zero_shot;
  DType dtype = DType::bf16;
  const roofline::Hardware* hardware = &roofline::find_hardware("h200");
  int gpus = 8;
  bool primitives = false;
};

/// The first message to a model. The same arguments and files give the same bytes.
/// @throws InputError for templates that are no Mustache, use unknown names or cannot be read
std::string task(const problem::Problem& problem, const Options& options, const Sources& sources);

/// The answer to an attempt: `result` is a whole result (store), or {"verdict": "no_code", "reason": ...}.
std::string repair(const nlohmann::json& result, const Sources& sources);

/// What a model is told whose reply was cut off.
std::string go_on(const Sources& sources);

}  // namespace pkb::prompt
