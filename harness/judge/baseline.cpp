// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "harness/judge/bench.h"
#include "harness/judge/lazy_answers.h"
#include "harness/judge/timed.h"
#include "harness/judge/trial_check.h"

namespace pkb::judge {
namespace {


}  // namespace

Findings check_baseline(Bench& bench) {
  Findings findings;
  std::size_t current = ~std::size_t{0};
  std::unique_ptr<Oracle> oracle;
  ref::Tensors inputs;
  for (int trial = 0; trial < bench.job().trials; ++trial) {
    bench.announce(fmt::format("trial {} of {}", trial + 1, bench.job().trials));
    if (const std::size_t variant = bench.variant_of(trial); variant != current) {
      current = variant;
      oracle = bench.oracle(variant);
    }
    bench.clock().enter("inputs");
    inputs = oracle->inputs(trial);
    const HostTensors before = to_host(oracle->input_tensors(), inputs);
    bench.clock().enter("reference");
    const Expected expected = oracle->expect(inputs);
    bench.clock().enter("check");
    HostTensors now = to_host(oracle->input_tensors(), inputs);
    // A tensor that is input and output has what the reference made of it.
    for (auto* list : {&oracle->input_tensors(), &oracle->output_tensors()})
      for (auto& [name, bytes] : to_host(*list, expected.baseline)) now[name] = std::move(bytes);
    TrialResult result = check_trial(*oracle, trial, expected, before, now, bench.comm());
    for (Diagnosis& each : result.diagnoses) findings.diagnoses.push_back(std::move(each));
    findings.trials.push_back({{"trial", trial},
                               {"variant", current},
                               {"schedule", 0},
                               {"passes", result.passes},
                               {"outputs", result.outputs()}});
  }
  if (bench.job().timed) {
    bench.clock().enter("time");
    bench.announce("timing");
    time_baseline(bench, *oracle, findings);
  }
  return findings;
}

}  // namespace pkb::judge
