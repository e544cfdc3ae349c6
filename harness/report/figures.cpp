// SPDX-License-Identifier: Apache-2.0
#include "harness/report/figures.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>

namespace pkb::report {
namespace {

constexpr int kAllAttempts = std::numeric_limits<int>::max();
constexpr int kNotOfFamily = -1;

std::size_t problems_of(const Report& report) {
  return std::max<std::size_t>(kProblems, report.problems.size());
}

}  // namespace

bool is_better(const Evaluation& a, const Evaluation& b) {
  if (a.verdict != b.verdict) return a.verdict > b.verdict;
  return a.speedup() > b.speedup() || (!std::isnan(a.speedup()) && std::isnan(b.speedup()));
}

std::vector<int> strata(const Report& report) {
  std::map<std::string, int> numbers;
  std::vector<int> strata;
  for (const Problem& each : report.problems)
    strata.push_back(numbers.try_emplace(each.family, static_cast<int>(numbers.size())).first->second);
  strata.resize(problems_of(report), -1);
  return strata;
}

Entries::Entries(const Report& report, const std::vector<Index>& evaluations, int samples)
    : x_report(report), x_samples(samples) {
  const Evaluation* last = nullptr;
  std::size_t sample = 0;
  for (const Index i : evaluations) {
    const Evaluation& each = report.evaluations[i];
    if (last == nullptr || each.problem != last->problem)
      sample = 0;
    else if (each.sample != last->sample)
      ++sample;
    last = &each;
    if (each.counted) x_entries.push_back({.evaluation = i, .sample = sample});
    x_samples = std::max(x_samples, static_cast<int>(sample) + 1);
    x_most_attempts = std::max(x_most_attempts, static_cast<int>(each.attempt) + 1);
  }
}

std::vector<std::vector<Entries::Sample>> Entries::outcomes(int last_attempt) const {
  std::vector<std::vector<Sample>> all(problems_of(x_report));
  for (const auto& [i, number] : x_entries) {
    const Evaluation& each = x_report.evaluations[i];
    if (static_cast<int>(each.attempt) > last_attempt) continue;
    std::vector<Sample>& samples = all[each.problem];
    samples.resize(std::max(samples.size(), number + 1));
    Sample& sample = samples[number];
    sample.evaluated = true;
    sample.correct |= each.is_correct();
    sample.speedup = std::fmax(sample.speedup, each.speedup());
    if (sample.best == kNoIndex || is_better(each, x_report.evaluations[sample.best])) sample.best = i;
  }
  return all;
}

std::vector<Cell> Entries::cells() const {
  const auto all = outcomes(kAllAttempts);
  std::vector<Cell> cells;
  for (Index problem = 0; problem < x_report.problems.size(); ++problem) {
    Cell cell{.problem = problem};
    for (const Sample& sample : all[problem]) {
      cell.samples += sample.evaluated;
      cell.correct += sample.correct;
      if (sample.best == kNoIndex) continue;
      if (cell.best == kNoIndex ||
          is_better(x_report.evaluations[sample.best], x_report.evaluations[cell.best]))
        cell.best = sample.best;
    }
    if (cell.best != kNoIndex) {
      cell.verdict = x_report.evaluations[cell.best].verdict;
      cell.speedup = x_report.evaluations[cell.best].speedup();
    }
    cells.push_back(cell);
  }
  return cells;
}

bool Entries::is_of(std::string_view family, std::size_t problem) const {
  return family.empty() ||
         (problem < x_report.problems.size() && x_report.problems[problem].family == family);
}

std::vector<double> Entries::shares(const std::vector<std::vector<Sample>>& outcomes, double threshold,
                                    std::string_view family) const {
  std::vector<double> shares(outcomes.size(), kNone);
  for (std::size_t problem = 0; problem < outcomes.size(); ++problem) {
    if (!is_of(family, problem)) continue;
    const auto fast = std::ranges::count_if(outcomes[problem],
                                            [&](const Sample& each) { return each.speedup > threshold; });
    shares[problem] = static_cast<double>(fast) / x_samples;
  }
  return shares;
}

std::vector<double> Entries::curve(std::span<const double> thresholds) const {
  const auto all = outcomes(kAllAttempts);
  std::vector<double> curve;
  for (const double threshold : thresholds) {
    double sum = 0;
    for (const double share : shares(all, threshold, {})) sum += share;
    curve.push_back(sum / static_cast<double>(all.size()));
  }
  return curve;
}

Figures Entries::figures(const Resampling& resampling, Of of) const {
  const auto all = outcomes(of.last_attempt);
  Figures figures;
  figures.samples = x_samples;
  figures.problems = 0;
  // Problems of other families have no number: they take no part.
  std::vector<double> correct(all.size(), kNone), speedups(all.size(), kNone),
      utilisations(all.size(), kNone);
  std::vector<int> correct_counts(all.size(), kNotOfFamily), fast_counts(all.size(), kNotOfFamily);
  for (std::size_t problem = 0; problem < all.size(); ++problem) {
    if (!is_of(of.family, problem)) continue;
    const std::vector<Sample>& samples = all[problem];
    ++figures.problems;
    int right = 0, fast = 0;
    double speedup = kNone, utilisation = kNone;
    for (const Sample& each : samples) {
      figures.evaluated += each.evaluated;
      right += each.correct;
      fast += each.speedup > 1;
      if (std::isnan(each.speedup) || each.speedup <= speedup) continue;
      speedup = each.speedup;
      utilisation = x_report.evaluations[each.best].times->utilisation;
    }
    figures.solved += right > 0;
    figures.timed += !std::isnan(speedup);
    figures.untimed += right > 0 && std::isnan(speedup);
    correct_counts[problem] = right;
    fast_counts[problem] = fast;
    correct[problem] = static_cast<double>(right) / x_samples;
    speedups[problem] = speedup;
    utilisations[problem] = utilisation;
  }
  figures.missing = figures.problems * x_samples - figures.evaluated;
  figures.correct = resampling.mean(correct);
  for (double* each : {&figures.correct.value, &figures.correct.low, &figures.correct.high})
    *each *= figures.problems;
  const auto at = [&](const std::vector<int>& successes, int k) {
    std::vector<double> chances;
    for (const int c : successes) chances.push_back(c == kNotOfFamily ? kNone : pass_at(x_samples, c, k));
    return resampling.mean(chances);
  };
  for (const int k : kDraws) figures.pass_at.push_back(at(correct_counts, k));
  figures.fast.resize(std::size(kThresholds));
  figures.fast_1_at.resize(std::size(kDraws));
  if (!of.timed || (figures.timed == 0 && figures.solved > 0)) return figures;  // unknown is not slow
  for (std::size_t i = 0; i < std::size(kThresholds); ++i)
    figures.fast[i] = resampling.mean(shares(all, kThresholds[i], of.family));
  for (std::size_t i = 0; i < std::size(kDraws); ++i) figures.fast_1_at[i] = at(fast_counts, kDraws[i]);
  figures.speedup = resampling.geometric_mean(speedups);
  const LeaveOneOut without = leave_one_out(speedups);
  figures.speedup_without_best = without.without_largest;
  figures.speedup_without_worst = without.without_smallest;
  figures.utilisation = resampling.median(utilisations);
  return figures;
}

}  // namespace pkb::report
