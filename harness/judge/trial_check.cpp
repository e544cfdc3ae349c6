// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/trial_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "harness/check/check.h"

namespace pkb::judge {
namespace {

constexpr std::byte kPoisonFloat{0xFF}, kPoisonInteger{0xC3};
constexpr std::int64_t kChunk = std::int64_t{64} << 20;

const problem::Tensor* find(const std::vector<problem::Tensor>& tensors, std::string_view name) {
  const auto found = std::ranges::find(tensors, name, &problem::Tensor::name);
  return found == tensors.end() ? nullptr : &*found;
}

/// A finite number, since JSON has no other.
double finite(double value) { return std::isfinite(value) ? value : std::numeric_limits<double>::max(); }

/// One check on this rank, in step with the other ranks.
class OutputCheck {
 public:
  OutputCheck(const problem::Check& check, const problem::Tensor& tensor, Oracle& oracle, int trial,
              MPI_Comm comm, const ref::Tensors& judged)
      : x_check(check), x_tensor(tensor), x_shape(tensor.shape), x_oracle(oracle), x_trial(trial), x_comm(comm), x_judged(judged) {
    MPI_Comm_rank(comm, &x_rank);
  }

  void judge(const Expected& expected, std::span<const std::byte> written, TrialResult& result) {
    const std::span<const std::byte> got = results_in(expected, written);
    const check::Result mine = compare(expected, got);
    if (!mine.passes())
      result.diagnoses.push_back(
          {.verdict = Verdict::wrong_result, .rank = x_rank, .trial = x_trial, .text = mine.text,
           .output = x_check.output,
           .elements = mine.count,
           .wrong = mine.mismatches,
           .first = mine.first});
    const TrialResult::Output all = sum(mine);
    if (x_rank == 0 && all.mismatches == 0 && x_check.kind == problem::Check::Kind::floating)
      if (auto sentence = check::audit(x_check, x_tensor.dtype, x_accuracy))
        result.diagnoses.push_back(
            {.verdict = Verdict::wrong_result, .rank = -1, .trial = x_trial, .text = *sentence,
             .output = x_check.output, .what = "coarse_rounding", .category = "numerics"});
    result.summary.push_back(all);
    // Ranks that are wrong differ anyway; this is for those that are all within their bounds.
    if (x_tensor.replicated && all.mismatches == 0) compare_ranks(got, result);
  }

 private:
  /// What of the output holds results: where their number depends on the data, the reference has as many rows.
  std::span<const std::byte> results_in(const Expected& expected, std::span<const std::byte> got) {
    if (!x_tensor.extent.empty()) {
      const ref::Tensor& baseline = expected.baseline[x_check.output];
      if (baseline.size(0) > x_shape[0])
        throw std::logic_error(fmt::format("{} has {} rows, but problem.json gives it {} at most", x_check.output,
                                           baseline.size(0), x_shape[0]));
      x_shape[0] = baseline.size(0);
      return got.first(baseline.nbytes());
    }
    return got;
  }

  check::Result compare(const Expected& expected, std::span<const std::byte> got) {
    const std::vector<std::byte> baseline = expected.baseline[x_check.output].bytes();
    const bool custom = x_check.kind == problem::Check::Kind::custom;
    const std::vector<double> golden =
        custom || x_check.kind == problem::Check::Kind::floating ? expected.golden[x_check.output].values() : std::vector<double>();
    const std::vector<double> bound =
        x_check.model_bound ? expected.bound[x_check.output].values()
        : custom            ? x_judged[x_check.output].values()
                            : std::vector<double>();
    return check::compare(x_check, {.name = x_check.output,
                                    .dtype = x_tensor.dtype,
                                    .shape = x_shape,
                                    .got = got,
                                    .baseline = baseline,
                                    .golden = golden,
                                    .bound = bound,
                                    .integers = x_oracle.are_integers(x_trial),
                                    .poison = poison_for(x_tensor.dtype)});
  }

  TrialResult::Output sum(const check::Result& mine) {
    // Equal copies of one error are one error.
    const check::Accuracy accuracy =
        x_tensor.replicated && x_rank != 0 ? check::Accuracy() : mine.accuracy;
    // One exchange: judges that share cores wait longer for each other than for anything else.
    struct Sums {
      double sums[4];
      std::int64_t counts[3];
      double worst;
    };
    const Sums ours{.sums = {accuracy.candidate, accuracy.baseline, accuracy.rounding, accuracy.rounding_fourth},
                    .counts = {accuracy.count, mine.count, mine.mismatches},
                    .worst = finite(mine.worst)};
    int ranks = 1;
    MPI_Comm_size(x_comm, &ranks);
    std::vector<Sums> all(static_cast<std::size_t>(ranks));
    MPI_Allgather(&ours, sizeof ours, MPI_BYTE, all.data(), sizeof ours, MPI_BYTE, x_comm);
    double sums[4] = {}, worst = 0;
    std::int64_t counts[3] = {};
    for (const Sums& each : all) {
      for (std::size_t i = 0; i < std::size(sums); ++i) sums[i] += each.sums[i];
      for (std::size_t i = 0; i < std::size(counts); ++i) counts[i] += each.counts[i];
      worst = std::max(worst, each.worst);
    }
    x_accuracy = {.candidate = sums[0],
                  .baseline = sums[1],
                  .rounding = sums[2],
                  .rounding_fourth = sums[3],
                  .count = counts[0]};
    const auto rms = [&](double total) {
      return counts[0] > 0 ? finite(std::sqrt(total / static_cast<double>(counts[0]))) : 0;
    };
    return {.name = x_check.output,
            .elements = counts[1],
            .mismatches = counts[2],
            .worst = worst,
            .candidate_rms = rms(sums[0]),
            .baseline_rms = rms(sums[1])};
  }

  void compare_ranks(std::span<const std::byte> got, TrialResult& result) {
    const std::int64_t byte = first_difference_from_rank_0(got, x_comm);
    if (byte < 0) return;
    result.diagnoses.push_back(
        {.verdict = Verdict::wrong_result,
         .rank = x_rank,
         .trial = x_trial,
         .text = fmt::format(
             "ranks_differ: {}: the ranks must agree bit for bit, but element {} differs from rank 0's",
             x_check.output, byte / static_cast<std::int64_t>(size_of(x_tensor.dtype)))});
  }

  const problem::Check& x_check;
  const problem::Tensor& x_tensor;
  problem::Shape x_shape;  // of what holds results
  Oracle& x_oracle;
  int x_trial, x_rank = 0;
  MPI_Comm x_comm;
  const ref::Tensors& x_judged;  // what the problem's own check says
  check::Accuracy x_accuracy;
};

}  // namespace

std::byte poison_for(DType dtype) { return info(dtype).floating ? kPoisonFloat : kPoisonInteger; }

nlohmann::json TrialResult::outputs() const {
  nlohmann::json all = nlohmann::json::array();
  for (const Output& each : summary)
    all.push_back({{"name", each.name},
                   {"elements", each.elements},
                   {"mismatches", each.mismatches},
                   {"worst_error_over_bound", each.worst},
                   {"candidate_rms", each.candidate_rms},
                   {"baseline_rms", each.baseline_rms}});
  return all;
}

std::int64_t first_difference_from_rank_0(std::span<const std::byte> mine, MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  std::int64_t size = static_cast<std::int64_t>(mine.size());
  MPI_Bcast(&size, 1, MPI_INT64_T, 0, comm);
  std::int64_t first = size == static_cast<std::int64_t>(mine.size()) ? -1 : 0;
  std::vector<std::byte> theirs(static_cast<std::size_t>(std::min(size, kChunk)));
  for (std::int64_t start = 0; start < size; start += kChunk) {
    const std::int64_t count = std::min(kChunk, size - start);
    if (rank == 0) std::copy_n(mine.begin() + start, count, theirs.begin());
    MPI_Bcast(theirs.data(), static_cast<int>(count), MPI_BYTE, 0, comm);
    if (first >= 0) continue;
    const auto differs = std::mismatch(theirs.begin(), theirs.begin() + count, mine.begin() + start);
    if (differs.first != theirs.begin() + count) first = start + (differs.first - theirs.begin());
  }
  return first;
}

TrialResult check_trial(Oracle& oracle, int trial, const Expected& expected, const HostTensors& before,
                        const HostTensors& now, MPI_Comm comm) {
  TrialResult result;
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  for (const problem::Tensor& tensor : oracle.input_tensors()) {
    if (tensor.in_out) continue;
    if (const auto changed = check::first_change(before.at(tensor.name), now.at(tensor.name), tensor.dtype))
      result.diagnoses.push_back(
          {.verdict = Verdict::wrong_result,
           .rank = rank,
           .trial = trial,
           .text = fmt::format(
               "input_changed: {}: element {} was changed, but inputs are not the candidate's to change",
               tensor.name, *changed)});
  }
  const ref::Tensors judged = oracle.judge(expected, before, now);
  for (const problem::Check& check : oracle.instance().checks) {
    const problem::Tensor* tensor = find(oracle.output_tensors(), check.output);
    if (tensor == nullptr) tensor = find(oracle.input_tensors(), check.output);
    OutputCheck(check, *tensor, oracle, trial, comm, judged).judge(expected, now.at(check.output), result);
  }
  int passes = result.diagnoses.empty() ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &passes, 1, MPI_INT, MPI_MIN, comm);
  result.passes = passes != 0;
  return result;
}

}  // namespace pkb::judge
