// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>

#include "harness/model/completion.h"

namespace pkb::campaign {

/// What tokens cost, per million: {"MODEL": {"input": 3, "output": 15, "cached": 0.3}}. "cached" is "input" when left out.
class Prices {
 public:
  Prices() = default;
  /// @throws InputError
  explicit Prices(const std::filesystem::path& file);
  /// Nothing for a model that has no price.
  std::optional<double> of(const std::string& model, const model::Usage& usage) const;

 private:
  nlohmann::json x_prices;
};

}  // namespace pkb::campaign
