// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/schedule/engine.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <set>
#include <string>
#include <thread>

#include "harness/virtual_gpu/ptx/module.h"

namespace pkb::virtual_gpu {
namespace {

using namespace std::chrono_literals;

constexpr const char* kHead = ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 data) {\n"
                              ".reg .pred %p<4>;\n.reg .b32 %r<10>;\n.reg .b64 %rd<10>;\n"
                              "ld.param.u64 %rd1, [data];\ncvta.to.global.u64 %rd1, %rd1;\n";

/// data[0] counts the blocks that ended.
const std::string kCount = std::string(kHead) + "red.global.add.u32 [%rd1], 1;\nret;\n}\n";
/// Waits until data[1] is not 0, looking with plain volatile loads, then counts.
const std::string kWait = std::string(kHead) +
                          "spin: ld.volatile.global.u32 %r1, [%rd1+4];\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra spin;\n"
                          "red.global.add.u32 [%rd1], 1;\nret;\n}\n";
/// The same with an atomic that changes nothing.
const std::string kWaitByCas = std::string(kHead) +
                               "spin: atom.global.cas.b32 %r1, [%rd1+4], 0, 0;\nsetp.eq.u32 %p1, %r1, 0;\n"
                               "@%p1 bra spin;\nred.global.add.u32 [%rd1], 1;\nret;\n}\n";
/// Sets data[1].
const std::string kSet = std::string(kHead) + "st.volatile.global.u32 [%rd1+4], 1;\nret;\n}\n";
/// Counts in data[0] and waits until data[0] has reached the number of blocks.
const std::string kMeet = std::string(kHead) +
                          "red.global.add.u32 [%rd1], 1;\nmov.u32 %r2, %nctaid.x;\n"
                          "spin: ld.volatile.global.u32 %r1, [%rd1];\nsetp.lt.u32 %p1, %r1, %r2;\n@%p1 bra spin;\n"
                          "ret;\n}\n";
/// Each block takes the next ticket and writes its index there: the order in which blocks ran.
const std::string kTicket = std::string(kHead) +
                            "atom.global.add.u32 %r1, [%rd1], 1;\nmov.u32 %r2, %ctaid.x;\n"
                            "mul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\nst.global.u32 [%rd3+4], %r2;\n"
                            "ret;\n}\n";
/// Writes %smid to data[%ctaid.x].
const std::string kSm = std::string(kHead) +
                        "mov.u32 %r1, %smid;\nmov.u32 %r2, %ctaid.x;\nmul.wide.u32 %rd2, %r2, 4;\n"
                        "add.s64 %rd3, %rd1, %rd2;\nst.global.u32 [%rd3], %r1;\nret;\n}\n";
const std::string kOutOfBounds = std::string(kHead) + "st.global.u32 [%rd1+8192], 1;\nret;\n}\n";

class EngineTest : public testing::Test {
 protected:
  EngineTest() {
    x_memory.add({.base = address(), .bytes = sizeof(x_data), .name = "data", .owner = 0});
  }

  std::uint64_t address() const { return reinterpret_cast<std::uintptr_t>(x_data.data()); }

  Engine::Options options() {
    Engine::Options made;
    made.status = &x_status;
    made.on_fault = [this](const Fault& fault) { x_faults.push_back(fault); };
    return made;
  }

  Launch launch(const std::string& ptx, std::uint32_t blocks, std::uint32_t threads = 32) {
    const ptx::Module module = ptx::parse(ptx);
    Launch made;
    made.kernel = std::make_shared<const Kernel>(decode(module, module.functions.at(0), {}));
    made.grid.x = blocks;
    made.block.x = threads;
    made.parameters.resize(made.kernel->parameter_bytes);
    const std::uint64_t parameter = address();
    std::memcpy(made.parameters.data(), &parameter, sizeof(parameter));
    return made;
  }

  std::uint32_t at(std::size_t index) { return std::atomic_ref(x_data[index]).load(); }
  void set(std::size_t index, std::uint32_t value) { std::atomic_ref(x_data[index]).store(value); }
  std::uint64_t progress() { return std::atomic_ref(x_status.progress).load(); }
  std::uint64_t looks() { return std::atomic_ref(x_status.looks).load(); }
  bool polling() { return std::atomic_ref(x_status.polling).load() != 0; }

  /// Whether `condition` holds within seconds, which allows for a busy machine.
  template <class Condition>
  static bool soon(Condition condition) {
    const auto deadline = std::chrono::steady_clock::now() + 20s;
    while (std::chrono::steady_clock::now() < deadline) {
      if (condition()) return true;
      std::this_thread::sleep_for(1ms);
    }
    return false;
  }

  alignas(256) std::array<std::uint32_t, 1024> x_data{};
  Memory x_memory;
  Status x_status{};
  std::vector<Fault> x_faults;
};

TEST_F(EngineTest, RunsEveryBlockOfALargeGridOnce) {
  for (const int threads : {1, 2, 4}) {
    for (const std::uint64_t seed : {0, 5}) {
      auto with = options();
      with.threads = threads;
      with.seed = seed;
      Engine engine(x_memory, with);
      set(0, 0);
      engine.wait(engine.submit(engine.legacy_stream(), launch(kCount, 10'000)));
      EXPECT_EQ(at(0), 10'000u * 32);
    }
  }
}

TEST_F(EngineTest, BlocksRunInOrderUnlessSeeded) {
  std::set<std::vector<std::uint32_t>> orders;
  for (const std::uint64_t seed : {0, 0, 1, 1, 2}) {
    auto with = options();
    with.seed = seed;
    Engine engine(x_memory, with);
    set(0, 0);
    engine.wait(engine.submit(engine.legacy_stream(), launch(kTicket, 500, 1)));
    std::vector<std::uint32_t> order(x_data.begin() + 1, x_data.begin() + 501);
    if (seed == 0) {
      for (std::uint32_t i = 0; i < 500; ++i) ASSERT_EQ(order[i], i);
    }
    orders.insert(order);
  }
  EXPECT_EQ(orders.size(), 3u);  // one per seed
}

TEST_F(EngineTest, BlocksSpreadOverTheSms) {
  Engine engine(x_memory, options());
  engine.wait(engine.submit(engine.legacy_stream(), launch(kSm, 132, 1)));
  EXPECT_EQ(std::set<std::uint32_t>(x_data.begin(), x_data.begin() + 132).size(), 132u);
}

TEST_F(EngineTest, AsManyBlocksMeetAsAreResident) {
  Engine engine(x_memory, options());
  engine.wait(engine.submit(engine.legacy_stream(), launch(kMeet, 132 * 32, 1)));
  EXPECT_EQ(at(0), 132u * 32);
}

TEST_F(EngineTest, OneBlockMoreThanResidentWaitsForever) {
  Engine engine(x_memory, options());
  engine.submit(engine.legacy_stream(), launch(kMeet, 132 * 32 + 1, 1));
  ASSERT_TRUE(soon([&] { return polling() && at(0) == 132 * 32 && x_status.waits[0] != 0; }));
  EXPECT_EQ(std::string(x_status.waits),
            "kernel k: block (4224,0,0) never started: the device is full with 4224 blocks, which wait\n"
            "kernel k, block (0,0,0) and 4223 more: 4224 threads poll data[0], which is 4224, until it is >= 4225\n");
  set(0, 132 * 32 + 1);  // the first to leave makes room
  engine.wait_all();
  EXPECT_EQ(at(0), 132u * 32 + 2);
}

TEST_F(EngineTest, PollingIsPublishedAndProgressStands) {
  for (const auto& [kernel, seed] : {std::pair(kWait, 0), {kWaitByCas, 0}, {kWait, 1}, {kWaitByCas, 2}}) {
    auto with = options();
    with.seed = static_cast<std::uint64_t>(seed);
    Engine engine(x_memory, with);
    set(0, 0);
    set(1, 0);
    EXPECT_FALSE(polling());
    const Point end = engine.submit(engine.legacy_stream(), launch(kernel, 3));
    ASSERT_TRUE(soon([&] { return polling(); }));
    const std::uint64_t before = progress(), looked = looks();
    ASSERT_TRUE(soon([&] { return looks() >= looked + 2; }));
    for (int i = 0; i < 100; ++i) {
      std::this_thread::sleep_for(1ms);
      ASSERT_TRUE(polling());
      ASSERT_EQ(progress(), before);
    }
    EXPECT_FALSE(engine.reached(end));
    EXPECT_FALSE(engine.idle(engine.legacy_stream()));
    set(1, 1);  // as another rank would
    engine.wait(end);
    EXPECT_FALSE(polling());
    EXPECT_GT(progress(), before);
    EXPECT_EQ(at(0), 96u);
  }
}

TEST_F(EngineTest, WaitingCostsLittleTime) {
  Engine engine(x_memory, options());
  engine.submit(engine.legacy_stream(), launch(kWait, 132 * 2, 1024));  // a full chip of polling warps
  ASSERT_TRUE(soon([&] { return polling(); }));
  std::this_thread::sleep_for(100ms);  // the pauses have grown
  timespec before{}, after{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
  std::this_thread::sleep_for(300ms);
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
  const auto used = std::chrono::seconds(after.tv_sec - before.tv_sec) +
                    std::chrono::nanoseconds(after.tv_nsec - before.tv_nsec);
  EXPECT_LT(used, 150ms);
  set(1, 1);
  engine.wait_all();
}

TEST_F(EngineTest, KernelsOfTwoStreamsRunSideBySide) {
  Engine engine(x_memory, options());
  const StreamPtr a = engine.create_stream(Stream::Kind::non_blocking);
  const StreamPtr b = engine.create_stream(Stream::Kind::non_blocking);
  const Point waits = engine.submit(a, launch(kWait, 1, 1));
  const Point second = engine.submit(a, launch(kCount, 1, 1));
  EXPECT_FALSE(engine.reached(waits));
  engine.wait(engine.submit(b, launch(kSet, 1, 1)));
  engine.wait(second);
  EXPECT_EQ(at(0), 2u);
}

TEST_F(EngineTest, LaterWorkOfAStreamWaits) {
  Engine engine(x_memory, options());
  const StreamPtr a = engine.create_stream(Stream::Kind::non_blocking);
  const StreamPtr b = engine.create_stream(Stream::Kind::non_blocking);
  const Point first = engine.submit(a, launch(kWait, 1, 1));
  std::atomic<int> ran = 0;
  engine.submit(a, DeviceWork{[&] { ran += 1; }});
  engine.submit(b, DeviceWork{[&] { ran += 10; }}, {first});
  engine.wait(engine.submit(engine.create_stream(Stream::Kind::non_blocking), DeviceWork{[&] { ran += 100; }}));
  EXPECT_EQ(ran, 100);
  set(1, 1);
  engine.wait_all();
  EXPECT_EQ(ran, 111);
}

TEST_F(EngineTest, LegacyStreamIsABarrierForBlockingStreams) {
  Engine engine(x_memory, options());
  const StreamPtr blocking = engine.create_stream(Stream::Kind::blocking);
  const StreamPtr free = engine.create_stream(Stream::Kind::non_blocking);
  std::atomic<int> ran = 0;
  engine.submit(blocking, launch(kWait, 1, 1));
  const Point legacy = engine.submit(engine.legacy_stream(), DeviceWork{[&] { ran += 1; }});
  const Point after = engine.submit(blocking, DeviceWork{[&] { ran += 10; }});
  engine.wait(engine.submit(free, DeviceWork{[&] { ran += 100; }}));
  EXPECT_EQ(ran, 100);
  EXPECT_FALSE(engine.idle(engine.legacy_stream()));
  EXPECT_TRUE(engine.idle(free));
  set(1, 1);
  engine.wait(after);
  EXPECT_TRUE(engine.reached(legacy));
  EXPECT_EQ(ran, 111);
}

TEST_F(EngineTest, HostCallsMayBlockWithoutStoppingKernels) {
  Engine engine(x_memory, options());
  const StreamPtr a = engine.create_stream(Stream::Kind::non_blocking);
  const StreamPtr b = engine.create_stream(Stream::Kind::non_blocking);
  engine.submit(a, HostCall{[&](bool) {
                  while (at(1) == 0) std::this_thread::sleep_for(1ms);
                }});
  engine.submit(b, launch(kSet, 1, 1));
  engine.wait_all();
  EXPECT_EQ(at(1), 1u);
}

TEST_F(EngineTest, AFaultEndsAllWork) {
  Engine engine(x_memory, options());
  const StreamPtr a = engine.create_stream(Stream::Kind::non_blocking);
  engine.submit(a, launch(kWait, 4));
  bool ran = false, told = false;
  engine.submit(a, DeviceWork{[&] { ran = true; }});
  engine.submit(a, HostCall{[&](bool failed) { told = failed; }});
  engine.submit(engine.legacy_stream(), launch(kOutOfBounds, 200));
  engine.wait_all();
  EXPECT_TRUE(engine.failed());
  ASSERT_EQ(x_faults.size(), 1u);
  EXPECT_EQ(x_faults[0].kind, Fault::Kind::illegal_address);
  EXPECT_EQ(x_faults[0].kernel, "k");
  EXPECT_EQ(x_faults[0].address, address() + 8192);
  EXPECT_FALSE(ran);
  EXPECT_TRUE(told);
  engine.wait(engine.submit(a, launch(kCount, 1, 1)));
  EXPECT_EQ(at(0), 0u);  // dropped
  engine.recover();
  engine.wait(engine.submit(a, launch(kCount, 1, 1)));
  EXPECT_EQ(at(0), 1u);
}

TEST_F(EngineTest, CountsWhatFinishedLaunchesDid) {
  Engine engine(x_memory, options());
  Launch work = launch(kCount, 10);
  work.ranks = 2;
  engine.wait(engine.submit(engine.legacy_stream(), work));
  const Counters counters = engine.take_counters();
  EXPECT_EQ(counters.warp_instructions, 10u * 4);  // ld, cvta, red, ret
  EXPECT_EQ(counters.lane_instructions, 10u * 4 * 32);
  ASSERT_EQ(counters.written_to.size(), 2u);
  EXPECT_EQ(counters.written_to[0], 10u * 32 * 4);
  EXPECT_EQ(counters.written_to[1], 0u);
  EXPECT_EQ(engine.take_counters().warp_instructions, 0u);
}

// The first kernel's even blocks let the second start and all wait for data[1], which the second sets before it
// waits for the first, whose last write it copies.
const std::string kFirst = std::string(kHead) +
                           "mov.u32 %r3, %ctaid.x;\nand.b32 %r3, %r3, 1;\nsetp.ne.u32 %p2, %r3, 0;\n"
                           "@!%p2 griddepcontrol.launch_dependents;\n"
                           "spin: ld.volatile.global.u32 %r1, [%rd1+4];\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra spin;\n"
                           "st.global.u32 [%rd1+8], 9;\nret;\n}\n";
const std::string kSecond = std::string(kHead) +
                            "st.volatile.global.u32 [%rd1+4], 1;\ngriddepcontrol.wait;\nld.global.u32 %r1, [%rd1+8];\n"
                            "st.global.u32 [%rd1+12], %r1;\nret;\n}\n";

TEST_F(EngineTest, ProgrammaticLaunchStartsWhenItIsLetAndWaitsForTheEnd) {
  for (const int threads : {1, 3}) {
    auto with = options();
    with.threads = threads;
    Engine engine(x_memory, with);
    x_data = {};
    const StreamPtr stream = engine.create_stream(Stream::Kind::non_blocking);
    engine.submit(stream, launch(kFirst, 1));
    Launch second = launch(kSecond, 300);
    second.programmatic = true;
    engine.submit(stream, second);
    engine.wait(engine.submit(stream, launch(kCount, 1)));
    EXPECT_EQ(at(3), 9u);
    EXPECT_EQ(at(0), 32u);
  }
}

TEST_F(EngineTest, ProgrammaticLaunchNeedsAllBlocksToLetIt) {
  for (const bool programmatic : {false, true}) {
    Engine engine(x_memory, options());
    x_data = {};
    const StreamPtr stream = engine.create_stream(Stream::Kind::non_blocking);
    engine.submit(stream, launch(kFirst, programmatic ? 2 : 1));  // block 1 never lets it
    Launch second = launch(kSecond, 1);
    second.programmatic = programmatic;
    engine.submit(stream, second);
    ASSERT_TRUE(soon([&] { return polling(); }));
    EXPECT_EQ(at(1), 0u);
    set(1, 1);
    engine.wait_all();
    EXPECT_EQ(at(3), 9u);
  }
}

/// Blocks write %smid to data[%ctaid.x] when all of their cluster are there.
const std::string kClusterSm = std::string(kHead) +
                               "barrier.cluster.arrive;\nbarrier.cluster.wait;\nmov.u32 %r1, %smid;\n"
                               "mov.u32 %r2, %ctaid.x;\nmul.wide.u32 %rd2, %r2, 4;\nadd.s64 %rd3, %rd1, %rd2;\n"
                               "st.global.u32 [%rd3], %r1;\nret;\n}\n";

TEST_F(EngineTest, ClustersStayInAProcessingCluster) {
  for (const std::uint64_t seed : {0, 3}) {
    auto with = options();
    with.threads = 2;
    with.seed = seed;
    Engine engine(x_memory, with);
    x_data.fill(~0u);
    Launch work = launch(kClusterSm, 800, 64);
    work.cluster.x = 8;
    engine.wait(engine.submit(engine.legacy_stream(), work));
    const auto gpc_of = [](std::uint32_t sm) { return sm < 80 ? sm / 16 : std::min(5 + (sm - 80) / 18, 7u); };
    std::set<std::uint32_t> gpcs;
    for (std::size_t i = 0; i < 800; ++i) {
      ASSERT_LT(at(i), 132u);
      EXPECT_EQ(gpc_of(at(i)), gpc_of(at(i / 8 * 8))) << i;
      gpcs.insert(gpc_of(at(i)));
    }
    EXPECT_EQ(gpcs.size(), 8u);
    EXPECT_TRUE(x_faults.empty());
  }
}

TEST_F(EngineTest, EndsWhileKernelsWait) {
  Engine engine(x_memory, options());
  engine.submit(engine.legacy_stream(), launch(kWait, 10));
  ASSERT_TRUE(soon([&] { return polling(); }));
}

}  // namespace
}  // namespace pkb::virtual_gpu
