// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "harness/launch/job.h"
#include "harness/problem/problem.h"
#include "reference/context.h"
#include "reference/problem_library.h"
#include "reference/tensor.h"

namespace pkb::judge {

/// Row-major bytes of this rank's tensors, by name, in host memory.
using HostTensors = std::map<std::string, std::vector<std::byte>, std::less<>>;

/// What a trial must give: computed by the judges among themselves, never shown to a worker.
struct Expected {
  ref::Tensors baseline;  ///< the reference in the run dtype
  ref::Tensors golden;    ///< on inputs promoted to fp64; empty when every check is exact
  ref::Tensors bound;     ///< per element, from the error model; empty when no check asks for it
};

/// One instance of a problem as this rank's judge computes it.
class Oracle {
 public:
  /// Collective.
  Oracle(const launch::Job& job, const problem::Instance& instance, const ref::ProblemLibrary& library,
         MPI_Comm comm, int rank);

  /// Collective: this rank's inputs of one trial: random, or those of the job's import folder. In the judge's own
  /// memory.
  ref::Tensors inputs(int trial);
  /// Whether all floating inputs of the trial are integer-valued, so that sums are exact.
  bool are_integers(int trial) const;

  /// After how many trials the distributions of the inputs repeat.
  int period() const;

  /// Collective.
  Expected expect(const ref::Tensors& inputs);
  /// Collective: the reference alone, in the run dtype.
  ref::Tensors baseline(const ref::Tensors& inputs) { return x_library.reference(x_context, inputs); }

  /// Collective: what the problem's own code says of the outputs whose check is `custom`; empty without any.
  ref::Tensors judge(const Expected& expected, const HostTensors& before, const HostTensors& now);

  /// The reference in the run dtype with a fault in its collectives.
  struct Sabotaged {
    ref::Tensors outputs;
    ref::SabotageRecord record;  ///< over all ranks
  };
  /// Collective.
  Sabotaged sabotaged(const ref::Tensors& inputs, const ref::Sabotage& fault);

  ref::Context& context() { return x_context; }
  const problem::Instance& instance() const { return x_instance; }
  const std::vector<problem::Tensor>& input_tensors() const;
  const std::vector<problem::Tensor>& output_tensors() const;

 private:
  const problem::Values& values_of(const problem::Tensor& tensor, int trial) const;

  ref::Tensor tensor(const problem::Tensor& like, const std::vector<std::byte>& bytes) const;

  const launch::Job& x_job;
  const problem::Instance& x_instance;
  const ref::ProblemLibrary& x_library;
  MPI_Comm x_comm;
  int x_rank;
  ref::Context x_context;
};

/// Where the judges compute: on the GPU where there is one.
ref::Place place_of(launch::Device device);
/// The GPU of a rank: all share the first on `shared`.
int ordinal_of(launch::Device device, int rank);

}  // namespace pkb::judge
