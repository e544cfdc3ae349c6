// SPDX-License-Identifier: Apache-2.0
#include "harness/launch/job.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/error/error.h"

namespace pkb::launch {
namespace {

using nlohmann::json;

constexpr std::string_view kDeviceNames[] = {"virtual", "shared", "cuda"};
constexpr std::string_view kSandboxNames[] = {"bubblewrap", "none"};
constexpr std::string_view kModeNames[] = {"evaluate", "baseline", "exporting", "auditing"};

[[noreturn]] void refuse(const char* key, const std::string& fault) {
  throw InputError({.where = fmt::format("job.json: {}", key), .fault = fault, .remedy = {}});
}

template <class T>
T get(const json& job, const char* key) {
  if (!job.is_object() || !job.contains(key)) refuse(key, "missing");
  try {
    return job.at(key).get<T>();
  } catch (const json::exception& error) {
    refuse(key, error.what());
  }
}

template <class Enum, std::size_t n>
Enum get_name(const json& job, const char* key, const std::string_view (&names)[n]) {
  const auto word = get<std::string>(job, key);
  for (std::size_t i = 0; i < n; ++i)
    if (names[i] == word) return static_cast<Enum>(i);
  refuse(key, fmt::format("unknown word \"{}\"", word));
}

}  // namespace

std::string_view name_of(Device device) { return kDeviceNames[static_cast<std::size_t>(device)]; }
std::string_view name_of(Sandbox sandbox) { return kSandboxNames[static_cast<std::size_t>(sandbox)]; }

json to_json(const Job& job) {
  return {{"mode", kModeNames[static_cast<std::size_t>(job.mode)]},
          {"problem", job.problem.string()},
          {"size", job.size},
          {"ranks", job.ranks},
          {"dtype", name_of(job.dtype)},
          {"device", name_of(job.device)},
          {"chip", job.chip},
          {"trials", job.trials},
          {"seed", job.seed},
          {"schedules", job.schedules},
          {"timed", job.timed},
          {"checks", job.checks},
          {"sandbox", name_of(job.sandbox)},
          {"bwrap", job.bwrap.string()},
          {"library", job.library.string()},
          {"export_folder", job.export_folder.string()},
          {"import_folder", job.import_folder.string()},
          {"run_folder", job.run_folder.string()},
          {"setup_deadline_ms", job.setup_deadline.count()},
          {"run_deadline_ms", job.run_deadline.count()},
          {"whole_deadline_s", job.whole_deadline.count()}};
}

Job job_from(const json& from) {
  Job job;
  job.mode = get_name<Job::Mode>(from, "mode", kModeNames);
  job.problem = get<std::string>(from, "problem");
  job.size = get<std::string>(from, "size");
  job.ranks = get<int>(from, "ranks");
  const auto dtype = dtype_from(get<std::string>(from, "dtype"));
  if (!dtype) refuse("dtype", "unknown word");
  job.dtype = *dtype;
  job.device = get_name<Device>(from, "device", kDeviceNames);
  job.chip = get<std::string>(from, "chip");
  job.trials = get<int>(from, "trials");
  job.seed = get<std::uint64_t>(from, "seed");
  job.schedules = get<int>(from, "schedules");
  job.timed = get<bool>(from, "timed");
  job.checks = get<bool>(from, "checks");
  job.sandbox = get_name<Sandbox>(from, "sandbox", kSandboxNames);
  job.bwrap = get<std::string>(from, "bwrap");
  job.library = get<std::string>(from, "library");
  job.export_folder = get<std::string>(from, "export_folder");
  job.import_folder = get<std::string>(from, "import_folder");
  job.run_folder = get<std::string>(from, "run_folder");
  job.setup_deadline = std::chrono::milliseconds(get<std::int64_t>(from, "setup_deadline_ms"));
  job.run_deadline = std::chrono::milliseconds(get<std::int64_t>(from, "run_deadline_ms"));
  job.whole_deadline = std::chrono::seconds(get<std::int64_t>(from, "whole_deadline_s"));
  if (job.ranks < 1) refuse("ranks", "must be at least 1");
  if (job.trials < 1) refuse("trials", "must be at least 1");
  if (job.schedules < 1) refuse("schedules", "must be at least 1");
  return job;
}

}  // namespace pkb::launch
