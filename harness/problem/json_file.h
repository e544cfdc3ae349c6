// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "harness/error/error.h"

namespace pkb::problem {

/// Keeps the order of members as written: it is the order of Args.
using Json = nlohmann::ordered_json;

/// A JSON file and the errors about its fields, which read "FILE: FIELD: fault; remedy".
struct JsonFile {
  std::string name;  ///< as messages print it: relative where the file lies below the current folder
  std::string text;
  Json json;

  InputError error(std::string_view field, std::string fault, std::string remedy = "") const;
};

/// Parses more strictly than JSON asks: a member may stand once only, nesting is bounded, and no number is beyond
/// 2^53. @throws InputError with `name`, line and column.
JsonFile parse_json(std::string name, std::string text);

/// The same for a file, whose size is bounded too.
JsonFile read_json(const std::filesystem::path& path);

}  // namespace pkb::problem
