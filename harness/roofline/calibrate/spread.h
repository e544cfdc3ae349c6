// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace pkb::roofline {

/// Repeated measurements of one thing.
struct Spread {
  double median = 0, low = 0, high = 0;  ///< low and high: the smallest and the largest
  int samples = 0;
};

/// @throws std::invalid_argument without samples
Spread spread_of(std::vector<double> samples);

/// Of f(sample), where f rises or falls throughout: a rate from times.
Spread map(const Spread& spread, const std::function<double(double)>& f);

nlohmann::json to_json(const Spread& spread);

}  // namespace pkb::roofline
