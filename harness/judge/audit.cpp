// SPDX-License-Identifier: Apache-2.0
// Judges answers that nobody has worked for in place of a candidate's.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "harness/judge/bench.h"
#include "harness/judge/gather.h"
#include "harness/judge/lazy_answers.h"
#include "harness/judge/trial_check.h"

namespace pkb::judge {
namespace {

/// What became of one answer over the trials.
struct Outcome {
  bool tried = false;  ///< it changed something in some trial
  int refused_in = -1;
  std::string reason;
};

class Audit {
 public:
  explicit Audit(Bench& bench) : x_bench(bench) {}

  Findings judge() {
    HostTensors previous;
    std::size_t current = ~std::size_t{0};
    std::unique_ptr<Oracle> oracle;
    for (int trial = 0; trial < x_bench.job().trials; ++trial) {
      x_bench.announce(fmt::format("trial {} of {}", trial + 1, x_bench.job().trials));
      if (const std::size_t variant = x_bench.variant_of(trial); variant != current) {
        current = variant;
        oracle = x_bench.oracle(variant);
        previous.clear();
      }
      x_bench.clock().enter("reference");
      const ref::Tensors inputs = oracle->inputs(trial);
      const Expected expected = oracle->expect(inputs);
      x_bench.clock().enter("check");
      judge_made_up(*oracle, trial, inputs, expected, previous);
      judge_coarser(*oracle, trial, inputs, expected);
      judge_sabotaged(*oracle, trial, inputs, expected);
      previous = right_answer(*oracle, expected);
    }
    return report();
  }

 private:
  void judge_made_up(Oracle& oracle, int trial, const ref::Tensors& inputs, const Expected& expected,
                     const HostTensors& previous) {
    const HostTensors right = right_answer(oracle, expected);
    for (const LazyAnswer& answer : made_up(oracle, inputs, expected, previous)) {
      // The mean of values that are all alike is nothing made up.
      const bool is_mean = answer.name.starts_with("mean ");
      const bool differs = !std::ranges::all_of(right, [&](const auto& each) {
        const auto found = answer.outputs.find(each.first);
        return found != answer.outputs.end() && found->second == each.second;
      });
      if (is_mean && !any(differs)) {
        x_outcomes[answer.name];
        continue;
      }
      judge(answer.name, oracle, trial, inputs, expected, answer.outputs);
    }
  }

  void judge_coarser(Oracle& oracle, int trial, const ref::Tensors& inputs, const Expected& expected) {
    const char* const name = "coarser inputs";
    bool changed = false;
    const ref::Tensors rounded = coarser(inputs, x_bench.job().dtype, changed);
    if (any(changed))
      judge_outputs(name, oracle, trial, inputs, expected, oracle.baseline(rounded));
    else
      x_outcomes[name];
  }

  void judge_sabotaged(Oracle& oracle, int trial, const ref::Tensors& inputs, const Expected& expected) {
    const int collectives = oracle.sabotaged(inputs, {}).record.collectives;
    for (const ref::Sabotage& fault : ref::every_sabotage(x_bench.job().ranks, collectives)) {
      const std::string name = name_of(fault);
      if (x_outcomes[name].refused_in >= 0) continue;
      const Oracle::Sabotaged spoilt = oracle.sabotaged(inputs, fault);
      if (spoilt.record.acted) judge_outputs(name, oracle, trial, inputs, expected, spoilt.outputs);
    }
  }

  void judge_outputs(const std::string& name, Oracle& oracle, int trial, const ref::Tensors& inputs,
                     const Expected& expected, const ref::Tensors& outputs) {
    HostTensors now = to_host(oracle.input_tensors(), inputs);
    for (auto* list : {&oracle.input_tensors(), &oracle.output_tensors()})
      for (auto& [output, bytes] : to_host(*list, outputs)) now[output] = bytes;
    judge(name, oracle, trial, inputs, expected, now);
  }

  void judge(const std::string& name, Oracle& oracle, int trial, const ref::Tensors& inputs,
             const Expected& expected, const HostTensors& now) {
    Outcome& outcome = x_outcomes[name];
    if (outcome.refused_in >= 0) return;
    outcome.tried = true;
    const TrialResult result =
        check_trial(oracle, trial, expected, to_host(oracle.input_tensors(), inputs), now, x_bench.comm());
    if (result.passes) return;
    outcome.refused_in = trial;
    for (const nlohmann::json& theirs :
         gather(result.diagnoses.empty() ? "" : result.diagnoses.front().text, x_bench.comm()))
      if (outcome.reason.empty()) outcome.reason = theirs.get<std::string>();
  }

  bool any(bool mine) const {
    int all = mine ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MAX, x_bench.comm());
    return all != 0;
  }

  Findings report() {
    Findings findings;
    std::map<std::string, std::string> unused = x_bench.instances().front().harmless;
    nlohmann::json rows = nlohmann::json::array();
    const auto complain = [&](const std::string& text) {
      if (x_bench.rank() == 0)
        findings.diagnoses.push_back(
            {.verdict = Verdict::wrong_result, .rank = -1, .trial = -1, .text = text});
    };
    for (const auto& [name, outcome] : x_outcomes) {
      nlohmann::json row = {{"answer", name}, {"trial", outcome.refused_in}, {"reason", outcome.reason}};
      if (outcome.refused_in >= 0) {
        row["outcome"] = "refused";
      } else if (!outcome.tried) {
        row["outcome"] = "does not apply";
      } else if (const std::string* why = declared(name, unused)) {
        row["outcome"] = "harmless";
        row["reason"] = *why;
      } else {
        row["outcome"] = "accepted";
        complain(fmt::format("\"{}\" passes every trial: inputs or checks are too weak", name));
      }
      rows.push_back(std::move(row));
    }
    for (const auto& [name, why] : unused)
      if (!x_used.contains(name))
        complain(fmt::format("problem.json: harmless.{}: no such answer passes; remove it", name));
    findings.facts["audit"] = std::move(rows);
    return findings;
  }

  const std::string* declared(const std::string& name, const std::map<std::string, std::string>& harmless) {
    for (const auto& [prefix, why] : harmless)
      if (name.starts_with(prefix)) {
        x_used.emplace(prefix, true);
        return &why;
      }
    return nullptr;
  }

  Bench& x_bench;
  std::map<std::string, Outcome> x_outcomes;
  std::map<std::string, bool> x_used;
};

}  // namespace

Findings audit(Bench& bench) { return Audit(bench).judge(); }

}  // namespace pkb::judge
