// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "reference/context.h"

/// For tests that run under mpirun; the library brings `main`.
namespace pkb::ref::testing {

/// Runs `body` on the first `ranks` ranks with a context over them; the others return. Collective over all
/// ranks. An exception ends the whole run, as the other ranks would wait for ever.
void with_ranks(int ranks, const ContextOptions& options, const std::function<void(Context&)>& body);

/// GPUs that CUDA offers here; 0 without a driver.
int gpus();
/// Makes GPU `index` this thread's device.
void use_gpu(int index);

}  // namespace pkb::ref::testing
