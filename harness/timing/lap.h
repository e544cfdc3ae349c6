// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace pkb::timing {

/// How long one iteration took on one rank, as its own process says.
struct Lap {
  double device_ms = 0;  ///< from the common start until the stream had done the work, by CUDA events
  double host_ms = 0;    ///< how long the host was busy enqueueing it
  bool operator==(const Lap&) const = default;
};

}  // namespace pkb::timing
