// SPDX-License-Identifier: Apache-2.0
#include "harness/device/memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <algorithm>
#include <vector>

#include "harness/device/probe.h"
#include "harness/error/error.h"

namespace pkb::device {
namespace {

std::vector<std::byte> contents(Memory& memory, const Segment& segment) {
  std::vector<std::byte> bytes(segment.bytes());
  memory.read(bytes, segment.data());
  return bytes;
}

/// What holds on every kind of device.
void create_write_import(Memory& memory) {
  constexpr std::size_t kBytes = 100'003;  // no page, no granule
  const Segment mine = memory.create(kBytes);
  ASSERT_EQ(mine.bytes(), kBytes);
  EXPECT_EQ(contents(memory, mine), std::vector<std::byte>(kBytes, std::byte{0}));

  std::vector<std::byte> pattern(kBytes);
  for (std::size_t i = 0; i < kBytes; ++i) pattern[i] = static_cast<std::byte>(i * 7 + i / 251);
  memory.write(mine.data(), pattern);
  const Segment theirs = memory.import(FileDescriptor(::dup(mine.fd())), kBytes);
  EXPECT_NE(theirs.data(), mine.data());
  EXPECT_EQ(theirs.fd(), -1);
  EXPECT_EQ(contents(memory, theirs), pattern);

  memory.fill(theirs.data() + 1, std::byte{0xC3}, 2);
  pattern[1] = pattern[2] = std::byte{0xC3};
  EXPECT_EQ(contents(memory, mine), pattern);
}

TEST(VirtualMemory, IsZeroedThenSharedWithWhoImportsIt) { create_write_import(*virtual_memory()); }

TEST(CudaMemory, IsZeroedThenSharedWithWhoImportsIt) {
  const Probe machine = probe();
  if (machine.gpus.empty()) GTEST_SKIP() << machine.why_none;
  create_write_import(*cuda_memory(0));
}

TEST(VirtualMemory, IsSharedWithAnotherProcess) {
  const auto memory = virtual_memory();
  const Segment mine = memory->create(64);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const Segment theirs = memory->import(FileDescriptor(::dup(mine.fd())), 64);
    theirs.data()[63] = std::byte{42};
    ::_exit(0);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(mine.data()[63], std::byte{42});
}

TEST(VirtualMemory, CannotBeShrunkByAPeer) {
  const Segment mine = virtual_memory()->create(8192);
  EXPECT_EQ(::ftruncate(mine.fd(), 0), -1);
  EXPECT_EQ(errno, EPERM);
}

TEST(VirtualMemory, RefusesASegmentSmallerThanAnnounced) {
  const auto memory = virtual_memory();
  const Segment small = memory->create(4096);
  EXPECT_THROW(memory->import(FileDescriptor(::dup(small.fd())), 4097), EnvironmentError);
}

TEST(VirtualMemory, IsUnmappedAtItsEnd) {
  const auto memory = virtual_memory();
  void* address = nullptr;
  {
    const Segment segment = memory->create(4096);
    address = segment.data();
  }
  unsigned char resident = 0;
  EXPECT_EQ(::mincore(address, 4096, &resident), -1);  // ENOMEM: not mapped
}

TEST(VirtualMemory, TakesNoMemoryBeforeItIsTouched) {
  const Segment segment = virtual_memory()->create(std::size_t{1} << 40);
  segment.data()[(std::size_t{1} << 40) - 1] = std::byte{1};
  EXPECT_EQ(segment.data()[0], std::byte{0});
}

}  // namespace
}  // namespace pkb::device
