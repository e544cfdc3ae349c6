// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/problem/json_file.h"
#include "harness/problem/problem.h"

/// problem.json as C++ values: formulas still text, everything that needs no numbers already checked.
namespace pkb::problem {

/// Symbols a formula may use without declaring them: the number of ranks, bytes of the run dtype, and in
/// shapes the rank itself.
inline constexpr std::string_view kRanks = "W", kBytes = "b", kRank = "rank";

using Assignments = std::map<std::string, std::string, std::less<>>;  ///< symbol or parameter -> formula

/// A scalar of Args.
struct Parameter {
  std::string name, doc;
  bool real = false;
  std::string value;  ///< the default; empty for a symbol, which each size gives
};

struct TensorDescription {
  std::string name, doc;
  std::vector<std::string> shape;
  std::optional<DType> dtype;  ///< nothing: the run dtype
  bool replicated = false, in_out = false;
  std::string extent{};
  std::vector<Values> values;
};

struct SizeDescription {
  std::string name;
  std::vector<int> ranks;
  Assignments values;
  std::vector<Assignments> variants;
};

struct GroupDescription {
  std::string name, size, stride;
};

struct Constraint {
  std::string require, message;
};

struct CheckDescription {
  Check check;                    ///< all but `exact_on_integers`
  std::string exact_on_integers;  ///< a formula
};

struct Description {
  JsonFile file;
  std::filesystem::path folder;
  int id = 0;
  std::string name, title, family, parallelism, workload;
  std::vector<Parameter> parameters;  ///< symbols, then params
  std::vector<GroupDescription> groups;
  std::vector<TensorDescription> inputs, outputs;
  std::vector<SizeDescription> sizes;
  std::vector<Constraint> constraints;
  std::vector<CheckDescription> checks;
  std::string sabotage;  ///< "all", or the dtype of the messages that `pkb audit` spoils
  std::map<std::string, std::string> harmless;
  std::string flops, hbm, sent, received;
};

/// Reads, validates and checks `folder`/problem.json. @throws InputError that names file and field.
Description describe(const std::filesystem::path& folder);

}  // namespace pkb::problem
