// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/bench.h"

#include <fmt/format.h>

#include <fstream>

#include "harness/error/error.h"
#include "harness/judge/exported.h"

namespace pkb::judge {
namespace {

int rank_in(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

}  // namespace

Bench::Bench(const launch::Job& job, MPI_Comm comm)
    : x_job(job),
      x_comm(comm),
      x_rank(rank_in(comm)),
      x_problem(problem::Problem::load(job.problem)),
      x_instances(x_problem.instances({.size = job.size, .ranks = job.ranks, .dtype = job.dtype})),
      x_library(job.problem.filename().string()),
      x_memory(job.device == launch::Device::virtual_gpu
                   ? device::virtual_memory(job.checks ? device::Beside::notes : device::Beside::nothing)
                   : device::cuda_memory(ordinal_of(job.device, x_rank))) {
  int ranks = 0;
  MPI_Comm_size(comm, &ranks);
  if (ranks != job.ranks)
    throw EnvironmentError({.where = "judges",
                            .fault = fmt::format("{} were started for {} ranks", ranks, job.ranks),
                            .remedy = {}});
  if (!job.import_folder.empty()) check_index(job, x_instances.front());
}

std::size_t Bench::variant_of(int trial) const {
  if (!x_job.import_folder.empty()) return 0;
  return static_cast<std::size_t>(trial) * x_instances.size() / static_cast<std::size_t>(x_job.trials);
}

std::unique_ptr<Oracle> Bench::oracle(std::size_t variant) {
  return std::make_unique<Oracle>(x_job, x_instances.at(variant), x_library, x_comm, x_rank);
}

void Bench::announce(std::string_view what) const {
  if (x_rank == 0) std::ofstream(x_job.run_folder / "progress", std::ios::app) << what << '\n';
}

}  // namespace pkb::judge
