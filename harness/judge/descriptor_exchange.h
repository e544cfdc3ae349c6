// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <filesystem>
#include <vector>

#include "harness/process/file_descriptor.h"
#include "harness/worker/channel.h"

namespace pkb::judge {

/// Sockets between the judges of one host, for what MPI cannot carry: file descriptors.
class DescriptorExchange {
 public:
  /// Collective. The sockets' names are in `folder` only while this runs.
  DescriptorExchange(MPI_Comm comm, const std::filesystem::path& folder);

  /// Collective: each rank's descriptor, by rank. @throws EnvironmentError when a judge is gone or does not
  /// answer.
  std::vector<FileDescriptor> all_gather(int fd);

 private:
  int x_rank = 0, x_ranks = 1;
  std::vector<worker::Channel> x_peers;  ///< by rank; this rank's is closed
};

}  // namespace pkb::judge
