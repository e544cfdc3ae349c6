// SPDX-License-Identifier: Apache-2.0
#include "harness/roofline/calibrate/spread.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace pkb::roofline {

Spread spread_of(std::vector<double> samples) {
  if (samples.empty()) throw std::invalid_argument("spread_of: no samples");
  std::ranges::sort(samples);
  const std::size_t half = samples.size() / 2;
  const double median = samples.size() % 2 == 1 ? samples[half] : (samples[half - 1] + samples[half]) / 2;
  return {.median = median, .low = samples.front(), .high = samples.back(), .samples = static_cast<int>(samples.size())};
}

Spread map(const Spread& spread, const std::function<double(double)>& f) {
  const double a = f(spread.low), b = f(spread.high);
  return {.median = f(spread.median), .low = std::min(a, b), .high = std::max(a, b), .samples = spread.samples};
}

nlohmann::json to_json(const Spread& spread) {
  return {{"median", spread.median}, {"low", spread.low}, {"high", spread.high}, {"samples", spread.samples}};
}

}  // namespace pkb::roofline
