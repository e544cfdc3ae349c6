// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace pkb::ref {

/// As long as it lives, `Tensor::empty` in this thread is filled with zeros: for runs in which a message may not
/// arrive, and a tensor must not hold the right answer only because its memory once did.
class ZeroedMemory {
 public:
  ZeroedMemory();
  ~ZeroedMemory();
  ZeroedMemory(const ZeroedMemory&) = delete;
  ZeroedMemory& operator=(const ZeroedMemory&) = delete;

 private:
  bool x_outer;
};

}  // namespace pkb::ref
