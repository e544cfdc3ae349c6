// SPDX-License-Identifier: Apache-2.0
#include "harness/report/statistics.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

namespace pkb::report {
namespace {

/// 2.5 % and 97.5 % of `statistics`, between neighbours by their distance. Those that are not defined are
/// left out.
void set_interval(Estimate& estimate, std::vector<double>& statistics) {
  std::erase_if(statistics, [](double each) { return std::isnan(each); });
  if (statistics.empty()) return;
  const auto quantile = [&](double part) {
    const double place = part * static_cast<double>(statistics.size() - 1);
    const auto below = statistics.begin() + static_cast<std::ptrdiff_t>(place);
    std::ranges::nth_element(statistics, below);
    const double next =
        below + 1 == statistics.end() ? *below : *std::min_element(below + 1, statistics.end());
    return *below + (place - std::floor(place)) * (next - *below);
  };
  estimate.low = quantile(0.025);
  estimate.high = quantile(0.975);
}

std::vector<std::size_t> defined(std::span<const double> values) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!std::isnan(values[i])) places.push_back(i);
  return places;
}

}  // namespace

double pass_at(int n, int c, int k) {
  if (k < 1 || k > n) return kNone;
  if (n - c < k) return 1;
  double none = 1;
  for (int i = n - c + 1; i <= n; ++i) none *= 1 - static_cast<double>(k) / i;
  return 1 - none;
}

Resampling::Resampling(std::span<const int> strata, std::uint64_t seed) {
  std::map<int, std::vector<std::size_t>> members;
  for (std::size_t i = 0; i < strata.size(); ++i) members[strata[i]].push_back(i);
  std::vector<std::vector<std::size_t>> groups;
  std::vector<std::size_t> alone;
  for (const auto& [stratum, problems] : members)
    if (problems.size() > 1)
      groups.push_back(problems);
    else
      alone.push_back(problems.front());
  if (!alone.empty()) groups.push_back(std::move(alone));

  // The standard's distributions may differ between libraries; its engines do not.
  std::mt19937_64 random(seed);
  x_weights.assign(kResamples * strata.size(), 0);
  for (std::size_t resample = 0; resample < kResamples; ++resample)
    for (const std::vector<std::size_t>& group : groups)
      for (std::size_t i = 0; i < group.size(); ++i)
        ++x_weights[group[((random() >> 32) * group.size()) >> 32] * kResamples + resample];
}

std::span<const std::uint16_t> Resampling::weights(std::size_t problem) const {
  return std::span(x_weights).subspan(problem * kResamples, kResamples);
}

Estimate Resampling::mean(std::span<const double> values) const {
  const std::vector<std::size_t> places = defined(values);
  Estimate estimate;
  if (places.empty()) return estimate;
  std::vector<double> sums(kResamples), counts(kResamples);
  double sum = 0;
  for (const std::size_t i : places) {
    sum += values[i];
    const auto weight = weights(i);
    for (std::size_t r = 0; r < kResamples; ++r) {
      sums[r] += weight[r] * values[i];
      counts[r] += weight[r];
    }
  }
  estimate.value = sum / static_cast<double>(places.size());
  if (places.size() < 2) return estimate;
  for (std::size_t r = 0; r < kResamples; ++r) sums[r] /= counts[r];  // 0 / 0 is not a number
  set_interval(estimate, sums);
  return estimate;
}

Estimate Resampling::geometric_mean(std::span<const double> values) const {
  std::vector<double> logarithms(values.begin(), values.end());
  for (double& each : logarithms) each = std::log(each);
  const Estimate of_logarithms = mean(logarithms);
  return {.value = std::exp(of_logarithms.value),
          .low = std::exp(of_logarithms.low),
          .high = std::exp(of_logarithms.high)};
}

Estimate Resampling::median(std::span<const double> values) const {
  std::vector<std::size_t> places = defined(values);
  Estimate estimate;
  if (places.empty()) return estimate;
  std::ranges::sort(places, {}, [&](std::size_t i) { return values[i]; });
  const std::size_t half = places.size() / 2;
  estimate.value =
      places.size() % 2 == 1 ? values[places[half]] : (values[places[half - 1]] + values[places[half]]) / 2;
  if (places.size() < 2) return estimate;
  // Each problem stands in the sorted list of a resample as often as it was drawn.
  std::vector<int> counts(kResamples), passed(kResamples);
  for (const std::size_t i : places)
    for (std::size_t r = 0; r < kResamples; ++r) counts[r] += weights(i)[r];
  std::vector<double> lower(kResamples, kNone), upper(kResamples, kNone);
  for (const std::size_t i : places)
    for (std::size_t r = 0; r < kResamples; ++r) {
      passed[r] += weights(i)[r];
      if (std::isnan(lower[r]) && counts[r] > 0 && 2 * passed[r] >= counts[r]) lower[r] = values[i];
      if (std::isnan(upper[r]) && 2 * passed[r] > counts[r]) upper[r] = values[i];
    }
  for (std::size_t r = 0; r < kResamples; ++r) lower[r] = (lower[r] + upper[r]) / 2;
  set_interval(estimate, lower);
  return estimate;
}

LeaveOneOut leave_one_out(std::span<const double> values) {
  double sum = 0, least = kNone, most = kNone;
  int count = 0;
  for (const double value : values) {
    if (std::isnan(value)) continue;
    sum += std::log(value);
    ++count;
    least = std::fmin(least, value);
    most = std::fmax(most, value);
  }
  if (count < 2) return {};
  return {.without_largest = std::exp((sum - std::log(most)) / (count - 1)),
          .without_smallest = std::exp((sum - std::log(least)) / (count - 1))};
}

}  // namespace pkb::report
