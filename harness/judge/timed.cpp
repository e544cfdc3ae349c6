// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/timed.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <random>
#include <vector>

#include "harness/judge/against_roofline.h"
#include "harness/judge/trial_check.h"

namespace pkb::judge {
namespace {

constexpr std::size_t kKept = 2;

/// Timed iterations are trials of the inputs' first distribution, after the trials that were checked.
int trial_of(const launch::Job& job, const Oracle& oracle, int pair) {
  const int period = oracle.period();
  return (job.trials + period - 1) / period * period + pair * period;
}

/// A sample, uniform over however many come, of what timed iterations left in the tensors.
class Keepsakes {
 public:
  Keepsakes(Bench& bench, const device::Segment& segment, const Layout& layout)
      : x_bench(bench), x_segment(segment), x_layout(layout) {}

  void offer(int trial) {
    // Algorithm R of Vitter, "Random sampling with a reservoir" (1985).
    std::uint64_t where = x_offered++;
    if (where >= kKept) where = std::uniform_int_distribution<std::uint64_t>(0, where)(x_random);
    MPI_Bcast(&where, 1, MPI_UINT64_T, 0, x_bench.comm());
    if (where >= kKept) return;
    x_kept.resize(std::max<std::size_t>(x_kept.size(), where + 1));
    x_kept[where] = {.trial = trial, .tensors = read_all(x_bench.memory(), x_segment, x_layout)};
  }

  /// Judges what was kept.
  void check(Oracle& oracle, Findings& findings) {
    for (const Keepsake& each : x_kept) {
      const ref::Tensors inputs = oracle.inputs(each.trial);
      HostTensors before;
      for (const auto& [name, tensor] : inputs) before[name] = tensor.bytes();
      TrialResult result =
          check_trial(oracle, each.trial, oracle.expect(inputs), before, each.tensors, x_bench.comm());
      for (Diagnosis& found : result.diagnoses) {
        found.text = "in a timed iteration: " + found.text;
        findings.diagnoses.push_back(std::move(found));
      }
    }
  }

 private:
  struct Keepsake {
    int trial = 0;
    HostTensors tensors;
  };

  Bench& x_bench;
  const device::Segment& x_segment;
  const Layout& x_layout;
  std::mt19937_64 x_random{std::random_device{}()};
  std::uint64_t x_offered = 0;
  std::vector<Keepsake> x_kept;
};

std::string device_name() {
  int device = 0;
  cudaDeviceProp properties{};
  if (cudaGetDevice(&device) != cudaSuccess || cudaGetDeviceProperties(&properties, device) != cudaSuccess) return {};
  return properties.name;
}

Contest contest_of(Bench& bench, Oracle& oracle, Track& track, JudgesWork& work) {
  return {.comm = bench.comm(),
          .seed = bench.job().seed,
          .prepare = [&](int pair) { track.prepare(trial_of(bench.job(), oracle, pair)); },
          .baseline =
              [&](std::uint32_t iteration, int) {
                return work.run(iteration, [&] { oracle.baseline(track.inputs()); });
              },
          .candidate = {},
          .nothing = [&](std::uint32_t iteration, int) { return work.run(iteration, [] {}); },
          .after_candidate = {},
          .processes_per_gpu = 1};
}

}  // namespace

void time_candidate(Bench& bench, Session& session, Oracle& oracle, const Layout& layout,
                    const device::Segment& segment, DescriptorExchange& exchange, Findings& findings) {
  Track track(oracle, bench.memory(), segment, layout);
  JudgesWork work(track, oracle.context(), exchange, bench.comm(), bench.rank(), bench.job().ranks);
  Keepsakes keepsakes(bench, segment, layout);
  Contest contest = contest_of(bench, oracle, track, work);
  contest.candidate = [&](std::uint32_t iteration, int pair) {
    return time_worker(session, track, iteration, trial_of(bench.job(), oracle, pair), bench.comm());
  };
  contest.after_candidate = [&](int pair) { keepsakes.offer(trial_of(bench.job(), oracle, pair)); };
  contest.processes_per_gpu = 2;
  std::optional<nlohmann::json> timing = hold(contest);
  if (!timing) return;
  const std::string impossible = hold_against_roofline(*timing, bench.problem(), oracle.instance(), device_name());
  for (const std::string& reason : {doubt_about_events(*timing), impossible})
    if (!reason.empty() && bench.rank() == 0)
      findings.diagnoses.push_back({.verdict = Verdict::disqualified, .rank = -1, .trial = -1, .text = reason});
  keepsakes.check(oracle, findings);
  findings.facts["timing"] = std::move(*timing);
}

void time_baseline(Bench& bench, Oracle& oracle, Findings& findings) {
  const Layout layout(oracle.instance(), bench.rank());
  const device::Segment segment = bench.memory().create(Track::bytes(layout));
  DescriptorExchange exchange(bench.comm(), bench.job().run_folder);
  Track track(oracle, bench.memory(), segment, layout);
  JudgesWork work(track, oracle.context(), exchange, bench.comm(), bench.rank(), bench.job().ranks);
  std::optional<nlohmann::json> timing = hold(contest_of(bench, oracle, track, work));
  if (!timing) return;
  hold_against_roofline(*timing, bench.problem(), oracle.instance(), device_name());
  findings.facts["timing"] = std::move(*timing);
}

}  // namespace pkb::judge
