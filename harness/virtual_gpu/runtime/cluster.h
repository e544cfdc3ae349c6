// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/virtual_gpu/runtime/launch.h"

namespace pkb::virtual_gpu {

/// How the blocks of a launch form clusters.
struct Clusters {
  Dim3 size;                ///< blocks of one
  bool is_explicit = false; ///< the launch or the kernel says so
};

/// The clusters of a launch that asks for `asked`, by the rules for the kernel and the chip.
/// @returns cudaErrorInvalidClusterSize where they refuse it
cudaError_t find_clusters(const Chip& chip, const FoundKernel& found, const std::optional<dim3>& asked,
                          Clusters& clusters);

/// The grid in blocks. @returns cudaErrorInvalidClusterSize where clusters do not divide it
cudaError_t count_blocks(const Kernel& kernel, const Clusters& clusters, Dim3& grid);

}  // namespace pkb::virtual_gpu
