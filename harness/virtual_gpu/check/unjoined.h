// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/virtual_gpu/check/clock.h"
#include "harness/virtual_gpu/check/ledger.h"
#include "harness/virtual_gpu/exec/fault.h"

namespace pkb::virtual_gpu::check {

/// A race for each kernel or copy of this rank that is part of the run, since `all` knows it, but that
/// nothing orders before `end`, where the run's stream ends: whoever goes on there may meet it still running.
std::vector<Fault> unjoined_work(const Ledger& ledger, const Clock& end, const Clock& all);

}  // namespace pkb::virtual_gpu::check
