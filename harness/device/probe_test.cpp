// SPDX-License-Identifier: Apache-2.0
#include "harness/device/probe.h"

#include <gtest/gtest.h>

namespace pkb::device {
namespace {

TEST(Probe, SaysWhyThereIsNoGpu) {
  const Probe machine = probe();
  EXPECT_EQ(machine.gpus.empty(), !machine.why_none.empty());
  EXPECT_GE(machine.runtime_version, 13000);
  if (machine.driver_library.empty()) {
    EXPECT_EQ(machine.driver_version, 0);
    EXPECT_NE(machine.why_none.find("libcuda.so.1"), std::string::npos) << machine.why_none;
  }
}

}  // namespace
}  // namespace pkb::device
