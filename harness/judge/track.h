// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/device/memory.h"
#include "harness/judge/layout.h"
#include "harness/judge/oracle.h"
#include "harness/judge/trial_check.h"
#include "harness/timing/stopwatch.h"
#include "harness/worker/protocol.h"

namespace pkb::judge {

/// Every tensor as it is now.
HostTensors read_all(device::Memory& memory, const device::Segment& segment, const Layout& layout);

/// The tensors of timed iterations: fresh inputs wait behind the segment's tensors until they are delivered to their
/// place.
class Track {
 public:
  /// Bytes of a segment with room for the waiting inputs.
  static std::uint64_t bytes(const Layout& layout) { return layout.bytes + layout.input_bytes; }

  Track(Oracle& oracle, device::Memory& memory, const device::Segment& segment, const Layout& layout)
      : x_oracle(oracle), x_memory(memory), x_segment(segment), x_layout(layout) {}

  /// Fresh inputs wait; the outputs are poisoned. Complete on return.
  void prepare(int trial);
  /// The inputs in their place, as a reference takes them.
  ref::Tensors inputs() const;
  timing::Delivery delivery() const;
  worker::Time message(std::uint32_t iteration) const;

 private:
  ref::Tensor at(std::uint64_t offset, const problem::Tensor& tensor) const;

  Oracle& x_oracle;
  device::Memory& x_memory;
  const device::Segment& x_segment;
  const Layout& x_layout;
};

}  // namespace pkb::judge
