// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/error/error.h"
#include "harness/problem/problem.h"

// Every constraint of every problem refuses something, in its own words.
namespace pkb::problem {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

/// A folder of the given name with a problem.json that may be written anew; removed at the end.
class Copy {
 public:
  explicit Copy(const std::string& folder)
      : x_root(fs::temp_directory_path() / ("pkb_constraints_" + std::to_string(getpid()))),
        x_path(x_root / folder) {
    fs::create_directories(x_path);
  }
  Copy(const Copy&) = delete;
  ~Copy() { fs::remove_all(x_root); }

  /// What is said of the size `tiny`, nothing when it is taken.
  std::string refusal(const json& description, int ranks) const {
    std::ofstream(x_path / "problem.json", std::ios::binary) << description;
    try {
      Problem::load(x_path).instances({.ranks = ranks});
    } catch (const InputError& error) {
      return error.what();
    }
    return {};
  }

 private:
  fs::path x_root, x_path;
};

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// Symbols and parameters that a formula uses.
std::vector<std::string> names_in(const std::string& formula, const json& description) {
  std::vector<std::string> names;
  for (const char* kind : {"symbols", "params"}) {
    const json named = description.value(kind, json::object());
    for (const auto& item : named.items())
      for (std::size_t at = formula.find(item.key()); at != std::string::npos;
           at = formula.find(item.key(), at + 1)) {
        const std::size_t end = at + item.key().size();
        if ((at > 0 && is_name(formula[at - 1])) || (end < formula.size() && is_name(formula[end]))) continue;
        names.push_back(item.key());
        break;
      }
  }
  return names;
}

/// Whether some value of one of its symbols breaks the constraint, and is refused with its message.
bool refuses(const Copy& copy, const json& description, const json& constraint) {
  const std::string message = constraint["message"];
  for (const std::string& name : names_in(constraint["require"], description))
    for (const json& value :
         {json(-1), json(0), json(1), json(2), json(5), json(7), json(1e9), json("W"), json(-2)})
      for (const int ranks : {4, 2}) {
        json changed = description;
        json& tiny = changed["sizes"]["tiny"];
        tiny.erase("variants");
        tiny[name] = value;
        if (copy.refusal(changed, ranks).find(message) != std::string::npos) return true;
      }
  return false;
}

TEST(Constraints, RefuseWithTheirMessages) {
  int constraints = 0;
  for (const Problem& problem : load_all(PKB_PROBLEMS)) {
    const json description = json::parse(problem.text());
    const Copy copy(problem.folder().filename());
    EXPECT_EQ(copy.refusal(description, 4), "") << problem.name();
    for (const json& each : description.value("constraints", json::array())) {
      ++constraints;
      EXPECT_TRUE(refuses(copy, description, each)) << problem.name() << ": " << each["require"];
    }
  }
  EXPECT_GT(constraints, 100);
}

}  // namespace
}  // namespace pkb::problem
