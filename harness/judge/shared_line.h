// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/device/memory.h"
#include "harness/judge/descriptor_exchange.h"
#include "harness/timing/start_line.h"

namespace pkb::judge {

/// A start line in memory that the judges of a node, and the workers they give its descriptor to, share.
class SharedLine {
 public:
  SharedLine() = default;
  explicit SharedLine(device::Segment segment, FileDescriptor file)
      : x_segment(std::move(segment)), x_file(std::move(file)) {}
  timing::StartLine& get() const { return *reinterpret_cast<timing::StartLine*>(x_segment.data()); }
  int fd() const { return x_file.get(); }

 private:
  device::Segment x_segment;
  FileDescriptor x_file;
};

/// Collective: rank 0's memory, as all see it.
SharedLine share_line(DescriptorExchange& exchange);

}  // namespace pkb::judge
