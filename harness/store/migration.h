// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace pkb::store {

/// Results of earlier versions, as the newest version would have written them. Files are never changed: who
/// reads one brings it to the newest version first.
class Migration {
 public:
  /// Makes the next version of a whole result, all but its "schema".
  using Step = void (*)(nlohmann::json& result);

  /// steps[i] leads from version i + 1 to version i + 2.
  explicit Migration(std::vector<Step> steps) : x_steps(std::move(steps)) {}

  int newest() const { return static_cast<int>(x_steps.size()) + 1; }

  /// Whatever has no "schema" below the newest stays as it is. @throws std::runtime_error in one sentence
  /// when `value` is not what its version says
  void apply(nlohmann::json& value) const;
  /// The same of a text that is JSON.
  std::string apply(std::string_view text) const;

 private:
  std::vector<Step> x_steps;
};

/// This program's, up to kSchema.
const Migration& migration();

}  // namespace pkb::store
