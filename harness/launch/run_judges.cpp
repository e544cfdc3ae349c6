// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "harness/error/error.h"
#include "harness/launch/job.h"
#include "harness/launch/mps.h"
#include "harness/launch/signals.h"
#include "harness/process/captured_output.h"
#include "harness/process/child.h"
#include "harness/process/executable.h"
#include "harness/process/file_descriptor.h"

extern char** environ;  // NOLINT

namespace pkb::launch {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

constexpr auto kEndPatience = 3s;
constexpr std::size_t kOutputKept = 64 << 10;

std::string errno_text() { return std::strerror(errno); }

void write_private(const std::filesystem::path& path, const std::string& text) {
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    throw EnvironmentError({.where = path.string(), .fault = errno_text(), .remedy = {}});
}

/// A whole JSON file, or null when it does not exist or is not whole.
json read_json(const std::filesystem::path& path) {
  std::ifstream file(path);
  return file ? json::parse(file, nullptr, false) : json();
}

/// The judges' environment: ours, without what would make Open MPI believe it runs inside another job.
std::vector<std::string> judge_environment(const Job& job, const Mps& mps, bool mps_running) {
  constexpr std::string_view kForeign[] = {"OMPI_", "PMIX_", "PMI_", "PRTE_", "ORTE_", "SLURM_", "CUDA_MPS_"};
  std::vector<std::string> environment;
  bool blas_threads = false;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (std::ranges::any_of(kForeign, [&](std::string_view prefix) { return text.starts_with(prefix); }))
      continue;
    blas_threads |= text.starts_with("OPENBLAS_NUM_THREADS=");
    environment.emplace_back(text);
  }
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  if (!blas_threads)
    environment.push_back(fmt::format("OPENBLAS_NUM_THREADS={}", std::max(1, cores / job.ranks)));
  // Without a daemon of ours, a folder where none listens keeps CUDA from finding a foreign one.
  if (job.device != Device::virtual_gpu)
    environment.push_back("CUDA_MPS_PIPE_DIRECTORY=" +
                          (mps_running ? mps.pipe_folder() : job.run_folder / "no-mps").string());
  return environment;
}

std::vector<std::string> mpirun_arguments(const Job& job, const std::filesystem::path& mpirun,
                                          const std::filesystem::path& judge) {
  const std::string folder = job.run_folder.string();
  return {mpirun.string(), "--allow-run-as-root", "-n", std::to_string(job.ranks), "--oversubscribe",
          "--bind-to", "none",
          // One host: no launch agent, no network but the loopback, shared memory between judges.
          "--mca", "plm", "isolated", "--mca", "oob_tcp_if_include", "lo", "--mca", "pml", "ob1", "--mca",
          "btl", "self,vader",
          // Cross-memory attach is refused in many containers, with a warning for each message.
          "--mca", "btl_vader_single_copy_mechanism", "none",
          // More judges than cores is normal here: one that waits must leave its core to one that works.
          "--mca", "mpi_yield_when_idle", "1",
          // Whatever ends the judges, their files go with the run folder.
          "--mca", "orte_tmpdir_base", folder, "--mca", "btl_vader_backing_directory", folder, judge.string(),
          (job.run_folder / "job.json").string()};
}

std::filesystem::path find_mpirun() {
  const auto mpirun = process::find_executable("mpirun");
  if (!mpirun)
    throw EnvironmentError({.where = "mpirun",
                            .fault = "not found on the PATH",
                            .remedy = "install Open MPI (scripts/setup does)"});
  return *mpirun;
}

std::filesystem::path find_judge() {
  const auto judge = process::own_folder() / "pkb-judge";
  if (::access(judge.c_str(), X_OK) != 0)
    throw EnvironmentError({.where = judge.string(), .fault = "not found", .remedy = "build the project"});
  return judge;
}

/// A judge that could not go on left its reason; the first one counts.
void throw_failure(const std::filesystem::path& folder) {
  const json failure = read_json(folder / "failure.json");
  if (!failure.is_object()) return;
  const Report report{.where = "", .fault = failure.value("text", "a judge failed"), .remedy = ""};
  if (failure.value("kind", "") == "input") throw InputError(report);
  throw EnvironmentError(report);
}

json run_once(const Job& job, const Programs& programs, const Progress& progress, const Mps& mps,
              bool mps_running) {
  const auto verdict_path = job.run_folder / "verdict.json";
  const auto [read_end, write_end] = process::open_pipe();
  const FileDescriptor output_end(read_end);
  FileDescriptor judges_end(write_end);
  const SignalWatch signals;
  process::Child mpirun({.arguments = mpirun_arguments(job, programs.mpirun, programs.judge),
                         .environment = judge_environment(job, mps, mps_running),
                         .descriptors = {-1, judges_end.get(), judges_end.get()}});
  judges_end.reset();

  process::CapturedOutput output(kOutputKept);
  ProgressFile marks(job.run_folder / "progress");
  const auto deadline = std::chrono::steady_clock::now() + job.whole_deadline;
  while (mpirun.running()) {
    if (const int signal = SignalWatch::received()) {
      mpirun.end(kEndPatience);
      throw EnvironmentError(
          {.where = "", .fault = "interrupted by " + process::describe_signal(signal), .remedy = {}});
    }
    if (std::chrono::steady_clock::now() > deadline) {
      mpirun.end(kEndPatience);
      throw EnvironmentError({.where = "judges",
                              .fault = fmt::format("not done after {} s", job.whole_deadline.count()),
                              .remedy = "choose a smaller size or a longer deadline"});
    }
    pollfd ready{output_end.get(), POLLIN, 0};
    ::poll(&ready, 1, 20);
    // When all writers are gone mpirun is about to end: do not spin meanwhile.
    if (!output.drain(output_end.get())) mpirun.wait(50ms);
    if (progress) marks.report(progress);
  }
  output.drain(output_end.get());

  if (json verdict = read_json(verdict_path); verdict.is_object()) return verdict;
  throw_failure(job.run_folder);
  const std::string last = output.last_lines(12);
  throw EnvironmentError({.where = "judges",
                          .fault = fmt::format("mpirun {} without a verdict{}{}",
                                               process::describe_status(mpirun.status().value_or(0)),
                                               last.empty() ? "" : "; its last lines:\n", last),
                          .remedy = {}});
}

bool is_hang(const json& verdict) {
  const std::string word = verdict.value("verdict", "");
  return word == "deadlock" || word == "timeout";
}

}  // namespace

json run_judges(const Job& job, const Progress& progress) {
  return run_judges(job, {.mpirun = find_mpirun(), .judge = find_judge()}, progress);
}

json run_judges(const Job& job, const Programs& programs, const Progress& progress) {
  write_private(job.run_folder / "job.json", to_json(job).dump(1));
  Mps mps;
  if (job.device == Device::shared && job.ranks > 1) mps = Mps(job.run_folder);
  const bool at_once = mps.running();
  json verdict = run_once(job, programs, progress, mps, at_once);
  std::string note = mps.note();
  if (at_once && is_hang(verdict)) {
    // A spinning grid that fills the GPU keeps its peers from starting under MPS; with turns they start.
    std::filesystem::remove(job.run_folder / "verdict.json");
    mps = Mps();
    verdict = run_once(job, programs, progress, mps, false);
    note = "a hang under MPS was tried again with ranks taking turns on the GPU";
  }
  verdict["mps"] = note;
  return verdict;
}

}  // namespace pkb::launch
