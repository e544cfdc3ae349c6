// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/job_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "harness/device/probe.h"
#include "harness/error/error.h"
#include "harness/process/unpredictable.h"
#include "harness/virtual_gpu/schedule/chip.h"

namespace pkb::cli {
namespace {

struct Choice {
  launch::Device device;
  std::string reason;
};

std::string count_of(const std::vector<device::Gpu>& gpus) {
  return fmt::format("{} GPU{}", gpus.size(), gpus.size() == 1 ? "" : "s");
}

Choice choose_device(const JobOptions& options, int ranks) {
  if (options.device == "virtual") return {launch::Device::virtual_gpu, ""};
  const device::Probe probe = device::probe();
  const bool exports = !probe.gpus.empty() && probe.gpus.front().exports_memory;
  const bool one_each = exports && probe.gpus.size() >= static_cast<std::size_t>(ranks);

  if (options.device == "auto") {
    if (one_each) return {launch::Device::cuda, fmt::format("{} for {} ranks", count_of(probe.gpus), ranks)};
    if (exports) return {launch::Device::shared, fmt::format("{} for {} ranks", count_of(probe.gpus), ranks)};
    return {launch::Device::virtual_gpu,
            probe.gpus.empty() ? probe.why_none : "the GPU cannot export memory"};
  }
  if (!exports)
    throw EnvironmentError(
        {.where = "--device " + options.device,
         .fault = probe.gpus.empty() ? probe.why_none : "the GPU cannot export memory to other processes",
         .remedy = "use --device virtual, or see `pkb doctor`"});
  if (options.device == "shared") return {launch::Device::shared, ""};
  if (!one_each)
    throw EnvironmentError(
        {.where = "--device cuda",
         .fault = fmt::format("{} for {} ranks, and it takes one GPU for each", count_of(probe.gpus), ranks),
         .remedy = "use --device shared, or fewer --ranks"});
  return {launch::Device::cuda, ""};
}

std::string architecture_of(const launch::Job& job) {
  // From 9.0 on a suffix gives instructions that only this capability has.
  const auto named = [](int major, int minor) { return fmt::format("{}{}{}", major, minor, major >= 9 ? "a" : ""); };
  if (job.device == launch::Device::virtual_gpu) {
    const virtual_gpu::Chip& chip = virtual_gpu::find_chip(job.chip);
    return named(chip.major, chip.minor);
  }
  const device::Gpu gpu = device::probe().gpus.front();
  return named(gpu.major, gpu.minor);
}

/// CLI11 alone would wrap a negative number and cut one that is too large.
std::string refuse_seed(const std::string& word) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  return error == std::errc() && end == word.data() + word.size()
             ? ""
             : "must be a whole number from 0 to 2^64 - 1";
}

/// A process has to be started and a library loaded, however short the runs are.
constexpr std::chrono::milliseconds kLeastSetup{5000};

}  // namespace

void add_timing_option(CLI::App& command, JobOptions& options) {
  command.add_option("--timing", options.timing, "on: what passes on cuda is timed, a candidate against the baseline")
      ->check(CLI::IsMember({"on", "off"}))
      ->capture_default_str();
}

void add_job_options(CLI::App& command, JobOptions& options) {
  command.add_option("problem", options.problem, "Number or name, see `pkb list`")->required();
  command
      .add_option(
          "--device", options.device,
          "virtual: virtual GPUs on the CPU; shared: all ranks on one GPU; cuda: one GPU per rank; auto: the "
          "best that is here")
      ->check(CLI::IsMember({"auto", "virtual", "shared", "cuda"}))
      ->capture_default_str();
  command.add_option("--ranks,-W", options.ranks, "Number of ranks; the size's own default when left out")
      ->check(CLI::Range(1, 64));
  command.add_option("--size", options.size, "tiny, small, paper, full or another size of the problem")
      ->capture_default_str();
  command.add_option("--dtype", options.dtype, "Run dtype")
      ->check(CLI::IsMember({"bf16", "fp16", "fp32"}))
      ->capture_default_str();
  command
      .add_option("--seed", options.seed,
                  "Repeats an evaluation: inputs and virtual schedule; otherwise unpredictable")
      ->check(refuse_seed);
  command.add_option("--chip", options.chip, "What virtual GPUs are")
      ->check(CLI::IsMember({"h100", "h200", "b200"}))
      ->capture_default_str();
  command
      .add_option("--import", options.import_folder,
                  "Inputs from a folder that `pkb export` wrote, instead of generated ones")
      ->check(CLI::ExistingDirectory);
  command.add_flag("--json", options.json, "One JSON object on standard output");
  command.add_flag("--verbose,-v", options.verbose, "Where the time went, by phase");
}

PrivateFolder::PrivateFolder() {
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
  if (error)
    throw EnvironmentError(
        {.where = "TMPDIR", .fault = "names no folder", .remedy = "set it to one, or unset it"});
  try {
    x_folder.emplace(parent, "pkb-");
  } catch (const std::system_error& failed) {
    throw EnvironmentError({.where = parent.string(),
                            .fault = fmt::format("no folder can be made in it: {}", failed.code().message()),
                            .remedy = "free space there or set TMPDIR to another folder"});
  }
}

PreparedJob prepare(const JobOptions& options, const PrivateFolder& folder) {
  const Installation here = installation();
  problem::Problem problem = problem::find(here.problems(), options.problem);
  const DType dtype = dtype_from(options.dtype).value();
  const auto instances = problem.instances({.size = options.size, .ranks = options.ranks, .dtype = dtype});

  launch::Job job;
  job.problem = problem.folder();
  job.size = options.size;
  job.ranks = instances.front().ranks;
  job.dtype = dtype;
  job.chip = options.chip;
  job.trials = options.trials;
  job.schedules = options.schedules;
  job.checks = options.checks == "on";
  job.seed = options.seed.value_or(process::unpredictable() >> 1);
  job.sandbox = options.sandbox == "none" ? launch::Sandbox::none : launch::Sandbox::bubblewrap;
  job.run_folder = folder.path();
  job.run_deadline = std::chrono::milliseconds(static_cast<std::int64_t>(options.timeout * 1000));
  job.setup_deadline = std::max(2 * job.run_deadline, kLeastSetup);
  if (!options.import_folder.empty()) job.import_folder = std::filesystem::absolute(options.import_folder);
  const Choice choice = choose_device(options, job.ranks);
  job.device = choice.device;
  job.timed = options.timing == "on" && job.device == launch::Device::cuda;
  return {here, std::move(problem), job, choice.reason, architecture_of(job)};
}

std::string headline(const PreparedJob& prepared) {
  const launch::Job& job = prepared.job;
  std::string device(name_of(job.device));
  if (job.device == launch::Device::virtual_gpu) device += fmt::format(" ({})", job.chip);
  if (!prepared.device_reason.empty()) device += fmt::format(" [auto: {}]", prepared.device_reason);
  return fmt::format("{:03}_{}  {}  {}  W = {}  {}  seed {}", prepared.problem.id(), prepared.problem.name(),
                     job.size, name_of(job.dtype), job.ranks, device, job.seed);
}

}  // namespace pkb::cli
