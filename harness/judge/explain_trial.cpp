// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/explain_trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include "harness/check/number.h"
#include "harness/diagnosis/diagnosis.h"
#include "reference/indexing.h"

namespace pkb::judge {
namespace {

using diagnosis::Class;
using diagnosis::Hypothesis;

constexpr std::int64_t kMostWrong = std::int64_t{1} << 20;  // of one output, a sample where there are more
constexpr auto kPatience = std::chrono::seconds(60);        // for runs of the spoilt reference
constexpr double kNearlyAll = 0.9;

std::string listed(const std::vector<int>& ranks) {
  std::string text = fmt::format("rank{}", ranks.size() == 1 ? "" : "s");
  for (std::size_t i = 0; i < ranks.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? " " : " and ", ranks[i]);
  return text;
}

std::pair<Class, std::string> meaning(const ref::Sabotage& fault) {
  using Kind = ref::Sabotage::Kind;
  switch (fault.kind) {
    case Kind::local_only:
      return {Class::not_reduced, "this rank's own values, as if it had received nothing"};
    case Kind::missing:
      return {Class::contribution_missing, fmt::format("the share of {} is missing", listed(fault.ranks))};
    case Kind::doubled:
      return {Class::contribution_doubled, fmt::format("the share of {} counts twice", listed(fault.ranks))};
    case Kind::swapped:
      return {Class::permuted_blocks, fmt::format("what belongs to {} is exchanged", listed(fault.ranks))};
    case Kind::rotated:
      return {Class::permuted_blocks, "blocks lie one place too early"};
    case Kind::skipped:
      return {Class::collective_skipped,
              fmt::format("collective {} of the reference has no effect", fault.call)};
    case Kind::mixed_groups:
      return {Class::mixed_groups, "ranks take part in the wrong groups"};
    case Kind::none:
      break;
  }
  return {Class::unknown, ""};
}

/// All faults of one kind each, and of a few ranks all sets whose shares may be missing.
std::vector<ref::Sabotage> faults(int ranks, int collectives) {
  std::vector<ref::Sabotage> all = ref::every_sabotage(ranks, collectives);
  for (unsigned set = 1; ranks <= 4 && set + 1 < 1u << ranks; ++set) {
    ref::Sabotage fault{.kind = ref::Sabotage::Kind::missing};
    for (int rank = 0; rank < ranks; ++rank)
      if ((set >> rank & 1) != 0) fault.ranks.push_back(rank);
    if (fault.ranks.size() > 1) all.push_back(std::move(fault));
  }
  return all;
}

class TrialExplanation {
 public:
  TrialExplanation(Oracle& oracle, const Expected& expected, const HostTensors& now, int trial,
                   TrialResult& result, MPI_Comm comm)
      : x_oracle(oracle), x_expected(expected), x_now(now), x_trial(trial), x_result(result), x_comm(comm) {
    MPI_Comm_rank(comm, &x_rank);
    MPI_Comm_size(comm, &x_ranks);
  }

  void explain(const ref::Tensors& inputs, const ref::Tensors& previous) {
    std::vector<Case> cases;
    for (const problem::Check& check : x_oracle.instance().checks) {
      const bool comparable =
          check.kind == problem::Check::Kind::exact || check.kind == problem::Check::Kind::floating;
      if (comparable && any(found(check.output) != nullptr)) cases.push_back(case_of(check));
    }
    if (cases.empty()) return;
    suspect(inputs, previous, cases);
    for (Case& each : cases) explain(each);
  }

 private:
  /// One output that is wrong on some rank, as it is on this one.
  struct Case {
    std::string output;
    std::vector<double> got, golden, bound;
    diagnosis::Evidence evidence;
    std::vector<std::int64_t> wrong;
    std::vector<Hypothesis> hypotheses = {};
  };

  Diagnosis* found(const std::string& output) {
    const auto each = std::ranges::find_if(
        x_result.diagnoses, [&](const Diagnosis& d) { return d.output == output && d.wrong > 0; });
    return each == x_result.diagnoses.end() ? nullptr : &*each;
  }
  bool any(bool mine) const { return largest(mine ? 1 : 0) != 0; }
  std::int64_t largest(std::int64_t mine) const {
    MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_INT64_T, MPI_MAX, x_comm);
    return mine;
  }

  Case case_of(const problem::Check& check) const {
    const ref::Tensor& baseline = x_expected.baseline[check.output];
    const std::vector<std::byte>& bytes = x_now.at(check.output);
    Case made{.output = check.output,
              .got = {},
              .golden = golden_of(check),
              .bound = {},
              .evidence = {},
              .wrong = {}};
    made.bound = bound_of(check, made.golden);
    made.got.resize(made.golden.size());
    for (std::size_t i = 0; i < made.got.size(); ++i)
      made.got[i] = check::number_at(baseline.dtype(), bytes.data(), static_cast<std::int64_t>(i));
    made.evidence = {.dtype = baseline.dtype(),
                     .shape = baseline.shape(),
                     .got = made.got,
                     .golden = made.golden,
                     .bound = made.bound,
                     .bytes = bytes,
                     .poison = poison_for(baseline.dtype()),
                     .ranks = x_ranks};
    made.wrong = diagnosis::find_wrong(made.evidence, kMostWrong);
    made.evidence.wrong = made.wrong;
    return made;
  }

  void suspect(const ref::Tensors& inputs, const ref::Tensors& previous, std::vector<Case>& cases) {
    const auto add = [&](Class what, const std::string& sentence, const ref::Tensors& outputs) {
      for (Case& each : cases)
        each.hypotheses.push_back({what, sentence, values_at(outputs[each.output], each.wrong)});
    };
    if (previous.size() > 0) add(Class::stale, "the values of the trial before", previous);
    const auto start = std::chrono::steady_clock::now();
    const int collectives = x_oracle.sabotaged(inputs, {}).record.collectives;
    for (const ref::Sabotage& fault : faults(x_ranks, collectives)) {
      if (any(std::chrono::steady_clock::now() - start > kPatience)) return;
      const Oracle::Sabotaged spoilt = x_oracle.sabotaged(inputs, fault);
      if (!spoilt.record.acted) continue;
      const auto [what, sentence] = meaning(fault);
      add(what, sentence, spoilt.outputs);
    }
  }

  void explain(Case& broken) {
    suspect_other_ranks(broken);
    if (const auto one = common(broken)) {
      std::swap(broken.hypotheses[*one], broken.hypotheses.front());
      broken.hypotheses.resize(1);
    }
    Diagnosis* const mine = found(broken.output);
    if (mine != nullptr) {
      const diagnosis::Explanation why = diagnosis::explain(broken.evidence, broken.hypotheses);
      mine->what = name_of(why.what);
      mine->category = name_of(category_of(why.what));
      mine->explanation = why.sentence;
      mine->explained = of_all(why.explained, broken, mine->wrong);
    }
    compare_ranks(mine, broken.got, broken.golden);
  }

  /// What a count among the sampled elements is among all that are wrong.
  static std::int64_t of_all(std::int64_t explained, const Case& broken, std::int64_t wrong) {
    if (broken.wrong.empty()) return 0;
    return std::llround(static_cast<double>(explained) / static_cast<double>(broken.wrong.size()) *
                        static_cast<double>(wrong));
  }

  std::vector<double> golden_of(const problem::Check& check) const {
    return check.kind == problem::Check::Kind::exact ? x_expected.baseline[check.output].values()
                                                     : x_expected.golden[check.output].values();
  }

  std::vector<double> bound_of(const problem::Check& check, const std::vector<double>& golden) const {
    if (check.kind == problem::Check::Kind::exact ||
        (check.exact_on_integers && x_oracle.are_integers(x_trial)))
      return std::vector<double>(golden.size());
    if (check.model_bound) return x_expected.bound[check.output].values();
    std::vector<double> bound;
    for (const double each : golden) bound.push_back(check.atol + check.rtol * std::fabs(each));
    return bound;
  }

  /// Row-major elements, NaN beyond the last one.
  static std::vector<double> values_at(const ref::Tensor& tensor, std::span<const std::int64_t> indices) {
    const auto known = std::ranges::lower_bound(indices, tensor.numel()) - indices.begin();
    std::vector<double> values;
    if (known > 0) {
      ref::Tensor index = ref::Tensor::empty({known}, DType::i64, tensor.place());
      index.copy_from(std::as_bytes(indices.first(static_cast<std::size_t>(known))));
      values = ref::index_select(tensor.reshape({-1}), 0, index).values();
    }
    values.resize(indices.size(), std::nan(""));
    return values;
  }

  void suspect_other_ranks(Case& broken) const {
    const auto size = static_cast<std::int64_t>(broken.golden.size());
    if (largest(size) != -largest(-size)) return;
    for (int asking = 0; asking < x_ranks; ++asking) {
      std::vector<std::int64_t> indices = broken.wrong;
      auto count = static_cast<int>(indices.size());  // about kMostWrong at most
      MPI_Bcast(&count, 1, MPI_INT, asking, x_comm);
      indices.resize(static_cast<std::size_t>(count));
      MPI_Bcast(indices.data(), count, MPI_INT64_T, asking, x_comm);
      std::vector<double> mine,
          all(asking == x_rank ? indices.size() * static_cast<std::size_t>(x_ranks) : 0);
      for (const std::int64_t each : indices) mine.push_back(broken.golden[static_cast<std::size_t>(each)]);
      MPI_Gather(mine.data(), count, MPI_DOUBLE, all.data(), count, MPI_DOUBLE, asking, x_comm);
      for (int rank = 0; rank < x_ranks && asking == x_rank; ++rank) {
        const auto begin = all.begin() + std::int64_t{rank} * count;
        broken.hypotheses.push_back(
            {Class::other_rank, fmt::format("what rank {} should have", rank), {begin, begin + count}});
      }
    }
  }

  /// The hypothesis that explains the ranks together, if one does: each alone might find another.
  std::optional<std::size_t> common(const Case& broken) const {
    std::vector<std::int64_t> counts = diagnosis::fits(broken.evidence, broken.hypotheses);
    counts.push_back(static_cast<std::int64_t>(broken.wrong.size()));
    MPI_Allreduce(MPI_IN_PLACE, counts.data(), static_cast<int>(counts.size()), MPI_INT64_T, MPI_SUM, x_comm);
    const auto wrong = static_cast<double>(counts.back());
    counts.pop_back();
    const auto best = std::ranges::max_element(counts);
    if (best == counts.end() || static_cast<double>(*best) < kNearlyAll * wrong) return std::nullopt;
    return static_cast<std::size_t>(best - counts.begin());
  }

  /// What every rank has at the first wrong element of each.
  void compare_ranks(Diagnosis* mine, const std::vector<double>& got,
                     const std::vector<double>& golden) const {
    for (int rank = 0; rank < x_ranks; ++rank) {
      std::int64_t first = rank == x_rank && mine != nullptr ? mine->first : -1;
      MPI_Bcast(&first, 1, MPI_INT64_T, rank, x_comm);
      if (first < 0) continue;
      const auto at = static_cast<std::size_t>(first);
      const double here[] = {at < got.size() ? got[at] : std::nan(""),
                             at < golden.size() ? golden[at] : std::nan("")};
      std::vector<double> all(2 * static_cast<std::size_t>(x_ranks));
      MPI_Allgather(here, 2, MPI_DOUBLE, all.data(), 2, MPI_DOUBLE, x_comm);
      if (rank != x_rank) continue;
      for (std::size_t r = 0; r < all.size(); r += 2) {
        mine->got_by_rank.push_back(all[r]);
        mine->golden_by_rank.push_back(all[r + 1]);
      }
    }
  }

  Oracle& x_oracle;
  const Expected& x_expected;
  const HostTensors& x_now;
  int x_trial;
  TrialResult& x_result;
  MPI_Comm x_comm;
  int x_rank = 0, x_ranks = 1;
};

}  // namespace

void explain_trial(Oracle& oracle, const ref::Tensors& inputs, int trial, const Expected& expected,
                   const ref::Tensors& previous, const HostTensors& now, TrialResult& result, MPI_Comm comm) {
  TrialExplanation(oracle, expected, now, trial, result, comm).explain(inputs, previous);
}

}  // namespace pkb::judge
