// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

namespace pkb::ref {

/// Cores that this process may run on.
int usable_cores();

/// Threads that host operators (and OpenBLAS) may use in this process; at first all cores.
/// Several ranks on one machine share them: `Context` sets this.
void set_host_threads(int threads);
int host_threads();

/// Calls `body(begin, end)` for ranges that cover [0, count), on several threads when that gives each at
/// least `grain` items. Results must not depend on how the range is cut.
void parallel_for(std::int64_t count, std::int64_t grain,
                  const std::function<void(std::int64_t begin, std::int64_t end)>& body);

}  // namespace pkb::ref
