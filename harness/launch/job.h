// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "harness/launch/progress_file.h"
#include "reference/dtype.h"

namespace pkb::launch {

enum class Device : std::uint8_t { virtual_gpu, shared, cuda };
std::string_view name_of(Device device);  ///< "virtual", "shared", "cuda"

enum class Sandbox : std::uint8_t { bubblewrap, none };
std::string_view name_of(Sandbox sandbox);

/// What the judges are to do; written as `job.json` into a private run folder before they start.
struct Job {
  enum class Mode : std::uint8_t {
    evaluate,   ///< judge `library`, a compiled candidate
    baseline,   ///< check (and on cuda time) the reference alone
    exporting,  ///< write inputs, golden and baseline outputs of one trial to `export_folder`
    auditing,   ///< judge answers that nobody worked for
  };
  Mode mode = Mode::evaluate;
  std::filesystem::path problem;  ///< folder of the problem
  std::string size = "tiny";
  int ranks = 0;
  DType dtype = DType::bf16;
  Device device = Device::virtual_gpu;
  std::string chip = "h200";  ///< the virtual GPU's
  int trials = 5;
  std::uint64_t seed = 0;
  int schedules = 1;  ///< seeds of the virtual GPU's schedule per trial
  bool timed = true;  ///< on cuda: the candidate's time against the baseline's
  bool checks = true; ///< the virtual GPU's, for races and uninitialised or late accesses
  Sandbox sandbox = Sandbox::bubblewrap;
  std::filesystem::path bwrap;          ///< the program, where the sandbox takes one
  std::filesystem::path library;        ///< the candidate, compiled
  std::filesystem::path export_folder;  ///< exporting
  std::filesystem::path import_folder;  ///< inputs from there instead of generated ones; may be empty
  std::filesystem::path run_folder;     ///< private to this job; the verdict is written there as verdict.json
  std::chrono::milliseconds setup_deadline{60'000}, run_deadline{30'000};
  std::chrono::seconds whole_deadline{3600};  ///< for everything, reference included
};

nlohmann::json to_json(const Job& job);
Job job_from(const nlohmann::json& json);  ///< @throws InputError

/// Starts one judge per rank under mpirun, waits for them and returns rank 0's verdict.json, to which it adds
/// "mps": how the ranks shared the GPU (empty elsewhere). `job.run_folder` must exist and be empty.
/// Signals that end pkb end the judges; nothing is left running or on disk but the run folder.
/// @throws EnvironmentError when mpirun or a judge ends without a verdict or a signal interrupts, InputError
/// when a judge finds the job's input wrong.
nlohmann::json run_judges(const Job& job, const Progress& progress = {});

/// The programs that `run_judges` finds on the PATH and beside its own executable.
struct Programs {
  std::filesystem::path mpirun, judge;
};
nlohmann::json run_judges(const Job& job, const Programs& programs, const Progress& progress = {});

}  // namespace pkb::launch
