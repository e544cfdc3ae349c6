// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <thread>

#include "harness/error/error.h"
#include "harness/judge/bench.h"
#include "harness/judge/cell.h"
#include "harness/judge/explain_trial.h"
#include "harness/judge/layout.h"
#include "harness/judge/link_bytes.h"
#include "harness/judge/session.h"
#include "harness/judge/timed.h"
#include "harness/judge/trial_check.h"
#include "harness/process/executable.h"
#include "reference/philox.h"

namespace pkb::judge {
namespace {

std::filesystem::path worker_program(launch::Device device) {
  const auto program = process::own_folder() /
                       (device == launch::Device::virtual_gpu ? "pkb-worker-virtual" : "pkb-worker-cuda");
  if (::access(program.c_str(), X_OK) != 0)
    throw EnvironmentError({.where = program.string(), .fault = "not found", .remedy = "build the project"});
  return program;
}

/// Three quarters of the machine's memory shared among the workers: one that eats more fails alone.
std::uint64_t memory_of_worker(int ranks) {
  const auto total = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                     static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return std::max<std::uint64_t>(total / 4 * 3 / static_cast<std::uint64_t>(ranks), std::uint64_t{1} << 30);
}

Cell cell_for(const launch::Job& job) {
  if (std::error_code error; !std::filesystem::is_regular_file(job.library, error))
    throw EnvironmentError(
        {.where = job.library.string(), .fault = "the compiled candidate is gone", .remedy = "run again"});
  Cell cell{.program = worker_program(job.device),
            .candidate = job.library,
            .gpu = job.device != launch::Device::virtual_gpu,
            .mps_pipes = {}};
  if (cell.gpu) {
    const char* const pipes = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
    if (pipes != nullptr && std::filesystem::exists(pipes)) cell.mps_pipes = pipes;
  } else {
    cell.memory = memory_of_worker(job.ranks);
  }
  return cell;
}

/// Seeds of schedules are drawn as the inputs are, so that they tell a worker nothing about later inputs.
/// The first run of an evaluation takes everything in order.
std::uint64_t schedule_seed(const launch::Job& job, int trial, int schedule, int rank) {
  if (trial == 0 && schedule == 0) return 0;
  const ref::Words4 words =
      ref::philox4x32({{static_cast<std::uint32_t>(schedule), static_cast<std::uint32_t>(rank), 0x5ced01e,
                        static_cast<std::uint32_t>(trial)}},
                      static_cast<std::uint32_t>(job.seed), static_cast<std::uint32_t>(job.seed >> 32));
  return (std::uint64_t{words.word[0]} << 32 | words.word[1]) | 1;
}

worker::Hello hello_for(const Bench& bench, bool is_confined) {
  const launch::Job& job = bench.job();
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  worker::Hello hello{.rank = bench.rank(),
                      .ranks = job.ranks,
                      .groups = {},
                      .device = ordinal_of(job.device, bench.rank()),
                      .chip = job.chip,
                      .threads = std::max(1, cores / job.ranks),
                      .confined = is_confined};
  for (const problem::Group& group : bench.instances().front().groups)
    for (const std::vector<int>& ranks : group.ranks_of)
      if (const auto me = std::ranges::find(ranks, bench.rank()); me != ranks.end())
        hello.groups.push_back(
            {.name = group.name, .rank = static_cast<int>(me - ranks.begin()), .ranks = ranks});
  return hello;
}

void add(worker::Counters& to, const worker::Counters& more) {
  to.lane_instructions += more.lane_instructions;
  to.warp_instructions += more.warp_instructions;
  to.global_read += more.global_read;
  to.global_written += more.global_written;
  to.shared_read += more.shared_read;
  to.shared_written += more.shared_written;
  const auto add_each = [](std::vector<std::uint64_t>& sums, const std::vector<std::uint64_t>& values) {
    sums.resize(std::max(sums.size(), values.size()));
    for (std::size_t i = 0; i < values.size(); ++i) sums[i] += values[i];
  };
  add_each(to.read_from, more.read_from);
  add_each(to.written_to, more.written_to);
}

nlohmann::json to_json(const worker::Counters& counters) {
  return {{"lane_instructions", counters.lane_instructions},
          {"warp_instructions", counters.warp_instructions},
          {"global_read", counters.global_read},
          {"global_written", counters.global_written},
          {"shared_read", counters.shared_read},
          {"shared_written", counters.shared_written},
          {"read_from", counters.read_from},
          {"written_to", counters.written_to}};
}

/// One candidate through all trials.
class Evaluation {
 public:
  explicit Evaluation(Bench& bench)
      : x_bench(bench),
        x_job(bench.job()),
        x_agreement(bench.comm()),
        x_exchange(bench.comm(), x_job.run_folder) {}

  Findings judge() {
    start();
    if (load()) run_trials();
    x_session->quit();
    x_agreement.finish();
    for (const Diagnosis& each : x_session->diagnoses()) x_findings.diagnoses.push_back(each);
    x_findings.worker_output = x_session->output();
    x_findings.counters = to_json(x_counters);
    return std::move(x_findings);
  }

 private:
  void start() {
    x_bench.clock().enter("load");
    x_bench.announce("loading the candidate");
    x_cell = cell_for(x_job);
    std::optional<sandbox::Means> means;
    if (x_job.sandbox == launch::Sandbox::bubblewrap) means = find_means(x_job.bwrap, x_cell.gpu);
    x_confined = means.has_value();
    x_findings.facts["sandbox_means"] =
        means ? nlohmann::json{{"user_namespace", means->user_namespace}, {"proc", name_of(means->proc)}}
              : nlohmann::json();
    const Session::Options options{.rank = x_bench.rank(),
                                   .ranks = x_job.ranks,
                                   .has_status = x_job.device == launch::Device::virtual_gpu,
                                   .checks = x_job.checks && x_job.device == launch::Device::virtual_gpu,
                                   .timed = x_job.timed,
                                   .setup_deadline = x_job.setup_deadline,
                                   .run_deadline = x_job.run_deadline};
    x_session.emplace(options,
                      WorkerProcess(means ? confined(x_cell, *means) : unconfined(x_cell), x_confined),
                      x_agreement, x_exchange, x_bench.memory());
  }

  bool load() {
    if (!x_session->start(hello_for(x_bench, x_confined))) return false;
    std::uint64_t bytes = 0;
    for (const problem::Instance& each : x_bench.instances()) {
      const Layout layout(each, x_bench.rank());
      bytes = std::max(bytes, x_job.timed ? Track::bytes(layout) : layout.bytes);
    }
    x_segment = x_bench.memory().create(bytes);
    return x_session->share(x_segment) && x_session->load({.library = candidate_path(x_cell, x_confined)});
  }

  void run_trials() {
    for (int trial = 0; trial < x_job.trials; ++trial) {
      const std::size_t variant = x_bench.variant_of(trial);
      if (variant != x_variant && !change_variant(variant)) return;
      x_bench.announce(fmt::format("trial {} of {}", trial + 1, x_job.trials));
      if (!run_trial(trial)) return;
    }
    if (x_job.timed && has_passed() && (x_variant == 0 || change_variant(0))) {
      x_bench.clock().enter("time");
      x_bench.announce("timing");
      time_candidate(x_bench, *x_session, *x_oracle, *x_layout, x_segment, x_exchange, x_findings);
    }
    x_bench.clock().enter("teardown");
    x_session->teardown();
  }

  /// On every rank.
  bool has_passed() const {
    return x_agreement.all(x_findings.diagnoses.empty() && x_session->diagnoses().empty());
  }

  bool change_variant(std::size_t variant) {
    x_bench.clock().enter("teardown");
    if (x_oracle && !x_session->teardown()) return false;
    x_bench.clock().enter("setup");
    x_variant = variant;
    x_previous = {};
    x_oracle = x_bench.oracle(variant);
    x_layout.emplace(x_oracle->instance(), x_bench.rank());
    worker::Setup setup{.tensors = x_layout->places(), .parameters = {}};
    for (const std::string& name : x_oracle->instance().parameter_names)
      setup.parameters.push_back(x_oracle->instance().symbols.at(name));
    return x_session->setup(setup);
  }

  /// False when the evaluation has to stop; a wrong result is no reason to.
  bool run_trial(int trial) {
    x_bench.clock().enter("inputs");
    const ref::Tensors inputs = x_oracle->inputs(trial);
    HostTensors before;
    for (const auto& [name, tensor] : inputs) before[name] = tensor.bytes();
    std::optional<Expected> expected;
    for (int schedule = 0; schedule < x_job.schedules; ++schedule) {
      x_bench.clock().enter("inputs");
      fill(inputs);
      MPI_Barrier(x_bench.comm());
      x_bench.clock().enter("run");
      if (!x_session->run({.seed = schedule_seed(x_job, trial, schedule, x_bench.rank())}, trial))
        return false;
      const HostTensors now = read_all(x_bench.memory(), x_segment, *x_layout);
      add(x_counters, x_session->counters());
      x_bench.clock().enter("reference");
      if (!expected) expected = x_oracle->expect(inputs);
      x_bench.clock().enter("check");
      const bool passes = check(trial, schedule, inputs, *expected, before, now);
      require_rest(trial, now);
      if (!passes) break;
    }
    if (expected) x_previous = expected->baseline;
    return true;
  }

  ref::Tensor view(const Slot& slot) {
    return ref::Tensor::from_blob(x_segment.data() + slot.offset, slot.tensor->shape, slot.tensor->dtype,
                                  place_of(x_job.device));
  }

  /// The inputs into what the workers see, poison into the outputs.
  void fill(const ref::Tensors& inputs) {
    for (const Slot& slot : x_layout->slots) {
      if (slot.is_output)
        x_bench.memory().fill(x_segment.data() + slot.offset, poison_for(slot.tensor->dtype), slot.bytes);
      else
        view(slot).copy_(inputs[slot.tensor->name]);
    }
    x_oracle->context().synchronize();
  }

  /// False when this run failed on some rank.
  bool check(int trial, int schedule, const ref::Tensors& inputs, const Expected& expected, const HostTensors& before,
             const HostTensors& now) {
    TrialResult result = check_trial(*x_oracle, trial, expected, before, now, x_bench.comm());
    if (!result.passes && x_explained++ < kMostExplained)
      explain_trial(*x_oracle, inputs, trial, expected, x_previous, now, result, x_bench.comm());
    for (Diagnosis& each : result.diagnoses) {
      if (schedule > 0) {
        // The same inputs have passed with another schedule.
        each.verdict = Verdict::nondeterministic;
        each.text = fmt::format("under schedule {}, but not before: {}", schedule, each.text);
      }
      x_findings.diagnoses.push_back(std::move(each));
    }
    nlohmann::json row = {{"trial", trial},
                          {"variant", x_variant},
                          {"schedule", schedule},
                          {"passes", result.passes},
                          {"outputs", result.outputs()}};
    if (x_job.device == launch::Device::virtual_gpu) row["links"] = links();
    x_findings.trials.push_back(std::move(row));
    return result.passes;
  }

  /// What the kernels of the last run moved between ranks, beside what the problem cannot avoid.
  nlohmann::json links() {
    const LinkBytes moved = busiest_link(x_session->counters(), x_bench.comm());
    const problem::Cost least = x_bench.problem().cost(x_oracle->instance());
    return {{"sent", moved.sent},
            {"received", moved.received},
            {"least_sent", least.sent_bytes},
            {"least_received", least.received_bytes}};
  }

  /// Whatever still writes after every rank has answered would do its work outside of the time that it is given.
  void require_rest(int trial, const HostTensors& then) {
    const HostTensors now = read_all(x_bench.memory(), x_segment, *x_layout);
    for (const Slot& slot : x_layout->slots) {
      if (!slot.is_output || now.at(slot.tensor->name) == then.at(slot.tensor->name)) continue;
      x_findings.diagnoses.push_back(
          {.verdict = Verdict::disqualified,
           .rank = x_bench.rank(),
           .trial = trial,
           .text = fmt::format("output {} changed after every rank had answered: something still runs",
                               slot.tensor->name)});
    }
  }

  static constexpr int kMostExplained = 2;  // trials: each costs as many runs of the reference as there are faults
  static constexpr std::size_t kNoVariant = ~std::size_t{0};

  Bench& x_bench;
  const launch::Job& x_job;
  Agreement x_agreement;
  DescriptorExchange x_exchange;
  Cell x_cell;
  bool x_confined = false;
  std::optional<Session> x_session;
  device::Segment x_segment;
  std::size_t x_variant = kNoVariant;
  std::unique_ptr<Oracle> x_oracle;
  std::optional<Layout> x_layout;
  ref::Tensors x_previous;  ///< what the trial before should have given
  int x_explained = 0;
  worker::Counters x_counters;
  Findings x_findings;
};

}  // namespace

Findings evaluate(Bench& bench) { return Evaluation(bench).judge(); }

}  // namespace pkb::judge
