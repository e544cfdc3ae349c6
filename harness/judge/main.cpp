// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <mpi.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/error/error.h"
#include "harness/judge/bench.h"
#include "harness/launch/job.h"

namespace pkb::judge {
namespace {

using Clock = PhaseClock::Clock;

launch::Job read_job(const char* path) {
  std::ifstream file(path);
  if (!file) throw InputError({.where = path, .fault = "cannot be read", .remedy = {}});
  return launch::job_from(nlohmann::json::parse(file, nullptr, false));
}

/// Leaves the reason for pkb; the first judge that fails is the one that counts.
void leave_reason(const std::filesystem::path& folder, const char* kind, const char* text) {
  const std::string reason = nlohmann::json{{"kind", kind}, {"text", text}}.dump(
      -1, ' ', false, nlohmann::json::error_handler_t::replace);
  const std::filesystem::path unfinished = folder / ("failure-" + std::to_string(::getpid()));
  std::ofstream(unfinished) << reason;
  std::error_code loses;
  std::filesystem::create_hard_link(unfinished, folder / "failure.json", loses);
}

void judge(const launch::Job& job, double mpi_milliseconds) {
  Bench bench(job, MPI_COMM_WORLD);
  bench.clock().enter("load");
  Findings findings;
  switch (job.mode) {
    case launch::Job::Mode::evaluate:
      findings = evaluate(bench);
      break;
    case launch::Job::Mode::baseline:
      findings = check_baseline(bench);
      break;
    case launch::Job::Mode::exporting:
      findings = export_trial(bench);
      break;
    case launch::Job::Mode::auditing:
      findings = audit(bench);
      break;
  }
  bench.clock().add("mpi", mpi_milliseconds);
  write_verdict(bench, findings);
}

}  // namespace
}  // namespace pkb::judge

int main(int argc, char** argv) {
  // Without this, a killed mpirun would leave judges and workers behind.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // What a judge holds is not for a worker of the same user to read.
  ::prctl(PR_SET_DUMPABLE, 0);
  if (argc != 2) {
    std::fprintf(stderr, "usage: pkb-judge JOB_JSON, started by pkb under mpirun\n");
    return 2;
  }
  const auto start = pkb::judge::Clock::now();
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  const double mpi = std::chrono::duration<double, std::milli>(pkb::judge::Clock::now() - start).count();
  const std::filesystem::path folder = std::filesystem::path(argv[1]).parent_path();
  int failure = 0;
  try {
    pkb::judge::judge(pkb::judge::read_job(argv[1]), mpi);
  } catch (const pkb::InputError& error) {
    pkb::judge::leave_reason(folder, "input", error.what());
    failure = 2;
  } catch (const std::exception& error) {
    pkb::judge::leave_reason(folder, "environment", error.what());
    failure = 3;
  }
  // The others may wait for this judge: abort ends them too.
  if (failure != 0) MPI_Abort(MPI_COMM_WORLD, failure);
  MPI_Finalize();
  return failure;
}
