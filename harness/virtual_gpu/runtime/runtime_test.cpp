// SPDX-License-Identifier: Apache-2.0
// What only the virtual GPU has: its configuration, faults, counters and status, and what it lacks.
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "harness/error/error.h"
#include "harness/virtual_gpu/runtime/conformance_kernels.h"
#include "harness/virtual_gpu/runtime/exchange.h"
#include "harness/virtual_gpu/runtime/module.h"
#include "harness/virtual_gpu/virtual_gpu.h"

namespace pkb::virtual_gpu {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

void* symbol(const char* name) {
  static void* const library = dlopen(PKB_CONFORMANCE_KERNELS, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  return dlsym(library, name);
}
#define KERNELS(name) reinterpret_cast<decltype(&name)>(symbol(#name))

// One device for all cases; a reset after each one that broke it.
class Runtime : public testing::Test {
 protected:
  static void SetUpTestSuite() { configure({.rank = 1, .ranks = 3, .status = &status}); }
  void TearDown() override {
    cudaDeviceReset();
    cudaGetLastError();
    take_faults();
    take_counters();
  }

  static inline Status status{};
};

TEST_F(Runtime, IsConfiguredOnce) { EXPECT_THROW(configure({}), std::logic_error); }

TEST_F(Runtime, UnknownChipsAreRefused) {
  EXPECT_THROW(find_chip("v100"), InputError);
}

TEST_F(Runtime, FaultsNameThePlace) {
  void* memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, 100), cudaSuccess);
  KERNELS(store)(static_cast<int*>(memory) + 25, 1, nullptr);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  const auto faults = take_faults();
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].kind, Fault::Kind::illegal_address);
  EXPECT_THAT(faults[0].kernel, HasSubstr("store_kernel"));
  EXPECT_THAT(faults[0].file, HasSubstr("conformance_kernels.cu"));
  EXPECT_GT(faults[0].line, 0u);
  EXPECT_EQ(faults[0].address, reinterpret_cast<std::uintptr_t>(memory) + 100);
  EXPECT_THAT(faults[0].text, HasSubstr("cudaMalloc #"));
  EXPECT_TRUE(take_faults().empty());
}

TEST_F(Runtime, DeviceWorksAgainAfterAReset) {
  KERNELS(trap)(nullptr);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
  unsigned* memory = nullptr;
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&memory), sizeof(unsigned)), cudaSuccess);
  KERNELS(set_flag)(memory, 6, nullptr);
  unsigned got = 0;
  EXPECT_EQ(cudaMemcpy(&got, memory, sizeof(got), cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(got, 6u);
}

TEST_F(Runtime, MissingCallsAreNamed) {
  EXPECT_EQ(cudaFreeArray(nullptr), cudaErrorNotSupported);
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  EXPECT_EQ(cudaGetDriverEntryPointByVersion("cuMulticastCreate", &function, 12000, 0, &found), cudaErrorNotSupported);
  EXPECT_EQ(found, cudaDriverEntryPointSymbolNotFound);
  const auto faults = take_faults();
  ASSERT_EQ(faults.size(), 2u);
  EXPECT_EQ(faults[0].kind, Fault::Kind::unsupported);
  EXPECT_EQ(faults[0].text, "the virtual GPU lacks cudaFreeArray");
  EXPECT_EQ(faults[1].text, "the virtual GPU lacks the driver's cuMulticastCreate; pkb::Context::multicast gives multicast addresses");
  EXPECT_EQ(to_string(faults[0]), faults[0].text);
}

TEST_F(Runtime, HandlesAreOfSharedMemory) {
  void* opened = nullptr;
  std::vector<std::byte> bytes(2 << 12);
  auto* const mapped = static_cast<std::byte*>(map_memory(bytes.data(), bytes.size()));
  register_memory(mapped, 1 << 12, "symmetric #0 of rank 1", 1);
  register_memory(mapped + (1 << 12), 1 << 12, "symmetric #0 of rank 2", 2);
  // What is expected is what an H200 answered.
  cudaIpcMemHandle_t whole, inside, theirs;
  ASSERT_EQ(cudaIpcGetMemHandle(&whole, mapped), cudaSuccess);
  ASSERT_EQ(cudaIpcGetMemHandle(&inside, mapped + 100), cudaSuccess);
  EXPECT_EQ(std::memcmp(&whole, &inside, sizeof whole), 0);
  EXPECT_EQ(cudaIpcOpenMemHandle(&opened, whole, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaIpcGetMemHandle(&theirs, mapped + (1 << 12)), cudaErrorInvalidValue);
  EXPECT_EQ(cudaIpcOpenMemHandle(&opened, whole, cudaIpcMemLazyEnablePeerAccess), cudaErrorDeviceUninitialized);
  EXPECT_EQ(cudaIpcOpenMemHandle(&opened, {}, cudaIpcMemLazyEnablePeerAccess), cudaErrorInvalidValue);
  EXPECT_EQ(cudaIpcCloseMemHandle(mapped), cudaErrorInvalidValue);

  void* own = nullptr;
  ASSERT_EQ(cudaMalloc(&own, 100), cudaSuccess);
  EXPECT_EQ(cudaIpcGetMemHandle(&whole, own), cudaErrorNotSupported);
  EXPECT_THAT(take_faults().at(0).text, HasSubstr("pkb::Context::symmetric"));
  unregister_memory(mapped);
  unregister_memory(mapped + (1 << 12));
  unmap_memory(mapped);
}

TEST_F(Runtime, EveryFunctionOfTheRealRuntimeIsThere) {
  const std::unique_ptr<FILE, int (*)(FILE*)> names(popen("nm -D --defined-only " PKB_REAL_RUNTIME, "r"), pclose);
  ASSERT_NE(names, nullptr);
  int functions = 0;
  std::array<char, 512> line{};
  while (std::fgets(line.data(), line.size(), names.get()) != nullptr) {
    std::array<char, 256> name{};
    char kind = 0;
    if (std::sscanf(line.data(), "%*x %c %255[^@\n ]", &kind, name.data()) != 2 || kind != 'T') continue;
    ++functions;
    void* const found = dlsym(RTLD_DEFAULT, name.data());
    EXPECT_NE(found, nullptr) << name.data();
    Dl_info info{};
    if (found != nullptr && dladdr(found, &info) != 0) {
      EXPECT_THAT(info.dli_fname, testing::Not(HasSubstr("libcudart"))) << name.data();
    }
  }
  EXPECT_GT(functions, 400);
}

TEST_F(Runtime, SharedSegmentsAreDeviceMemoryOfTheirOwner) {
  alignas(256) std::array<float, 64> mine_here{}, theirs_here{};
  theirs_here.fill(2);
  auto* const mine = static_cast<float*>(map_memory(mine_here.data(), sizeof(mine_here)));
  auto* const theirs = static_cast<float*>(map_memory(theirs_here.data(), sizeof(theirs_here)));
  EXPECT_TRUE(is_device_address(mine));
  EXPECT_FALSE(is_device_address(mine_here.data()));
  register_memory(mine, sizeof(mine_here), "output out of rank 1", 1);
  register_memory(theirs, sizeof(theirs_here), "input in of rank 2", 2);
  EXPECT_THROW(register_memory(mine + 3, 4, "overlapping", 0), std::invalid_argument);
  cudaPointerAttributes attributes;
  ASSERT_EQ(cudaPointerGetAttributes(&attributes, mine + 5), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  EXPECT_EQ(cudaFree(mine), cudaErrorInvalidValue);
  KERNELS(vector_add)(theirs, theirs, mine, 64, nullptr);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(mine_here[63], 4);
  const Counters counters = take_counters();
  EXPECT_EQ(counters.read_from, (std::vector<std::uint64_t>{0, 0, 512}));
  EXPECT_EQ(counters.written_to, (std::vector<std::uint64_t>{0, 256, 0}));
  unregister_memory(mine);
  unregister_memory(theirs);
  EXPECT_THROW(unregister_memory(theirs), std::invalid_argument);
  unmap_memory(mine);
  unmap_memory(theirs);
  EXPECT_THROW(unmap_memory(theirs), std::invalid_argument);
}

TEST_F(Runtime, OnlyMappedMemoryCanBeASegment) {
  alignas(256) std::array<float, 64> here{};
  auto* const mapped = static_cast<float*>(map_memory(here.data(), sizeof(here)));
  EXPECT_THROW(register_memory(mapped + 1, sizeof(here), "beyond the end", 1), std::invalid_argument);
  register_memory(mapped + 32, 32 * sizeof(float), "second half", 1);
  KERNELS(store)(reinterpret_cast<int*>(mapped + 31), 1, nullptr);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  EXPECT_EQ(here[31], 0);
  unregister_memory(mapped + 32);
  unmap_memory(mapped);
}

TEST_F(Runtime, HostCodeCannotTouchDeviceMemory) {
  int* on_device = nullptr;
  int* pinned = nullptr;
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&on_device), 400), cudaSuccess);
  ASSERT_EQ(cudaMallocHost(reinterpret_cast<void**>(&pinned), 400), cudaSuccess);
  pinned[99] = 7;
  KERNELS(store)(pinned, 8, nullptr);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(pinned[0], 8);
  EXPECT_TRUE(is_device_address(on_device));
  EXPECT_FALSE(is_device_address(pinned));
  EXPECT_DEATH(*const_cast<volatile int*>(on_device) = 1, "");
  ASSERT_EQ(cudaFree(on_device), cudaSuccess);
  int other = 0;
  EXPECT_EQ(cudaMemcpy(&other, on_device, sizeof(other), cudaMemcpyDefault), cudaErrorInvalidValue);  // not the host's
  EXPECT_EQ(cudaHostRegister(on_device, 4, cudaHostRegisterDefault), cudaErrorInvalidValue);
}

TEST_F(Runtime, FreedAddressesDoNotComeBackAtOnce) {
  void* first = nullptr;
  ASSERT_EQ(cudaMalloc(&first, 400), cudaSuccess);
  ASSERT_EQ(cudaFree(first), cudaSuccess);
  void* second = nullptr;
  ASSERT_EQ(cudaMalloc(&second, 400), cudaSuccess);
  EXPECT_NE(first, second);
  KERNELS(store)(static_cast<int*>(first), 1, nullptr);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
}

TEST_F(Runtime, DeadlockOfAGridThatDoesNotFitIsVisible) {
  const int fits = KERNELS(meet_capacity)();
  unsigned* memory = nullptr;
  ASSERT_EQ(cudaMallocHost(reinterpret_cast<void**>(&memory), 4096 * sizeof(unsigned)), cudaSuccess);
  std::memset(memory, 0, 4096 * sizeof(unsigned));
  const auto launches = std::atomic_ref(status.launches).load();
  KERNELS(meet)(memory, memory + 1, static_cast<unsigned>(fits) + 1, nullptr);
  const auto deadline = std::chrono::steady_clock::now() + 20s;
  while (std::strstr(status.waits, "meet_kernel") == nullptr && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_EQ(std::atomic_ref(status.polling).load(), 1u);
  EXPECT_EQ(std::atomic_ref(status.launches).load(), launches + 1);
  EXPECT_THAT(status.waits, HasSubstr("block (264,0,0) never started: the device is full with 264 blocks"));
  EXPECT_THAT(status.waits, HasSubstr("conformance_kernels.cu:"));
  std::atomic_ref(memory[0]).fetch_add(1);  // stands in for the block that has no room
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

TEST_F(Runtime, SeedsChangeTheOrderOfBlocks) {
  std::vector<unsigned> order(300), last;
  unsigned* memory = nullptr;
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&memory), 301 * sizeof(unsigned)), cudaSuccess);
  for (const std::uint64_t seed : {0, 1, 2}) {
    set_seed(seed);
    ASSERT_EQ(cudaMemset(memory, 0, 301 * sizeof(unsigned)), cudaSuccess);
    KERNELS(number_blocks)(memory + 1, memory, 300, nullptr);
    ASSERT_EQ(cudaMemcpy(order.data(), memory + 1, 1200, cudaMemcpyDeviceToHost), cudaSuccess);
    for (unsigned i = 0; i < 300; ++i) ASSERT_EQ(order[i], i + 1);
  }
  set_seed(0);
}

TEST_F(Runtime, LimitsAndPropertiesAreTheChips) {
  cudaDeviceProp properties;
  ASSERT_EQ(cudaGetDeviceProperties(&properties, 0), cudaSuccess);
  EXPECT_STREQ(properties.name, "NVIDIA H200");
  EXPECT_EQ(properties.multiProcessorCount, 132);
  EXPECT_EQ(properties.sharedMemPerBlockOptin, 227u * 1024);
  EXPECT_EQ(properties.maxThreadsPerMultiProcessor, 2048);
  EXPECT_EQ(cudaGetDeviceProperties(&properties, 1), cudaErrorInvalidDevice);
  EXPECT_STREQ(cudaGetErrorName(cudaErrorInvalidDevice), "cudaErrorInvalidDevice");
  EXPECT_STREQ(cudaGetErrorString(cudaErrorInvalidDevice), "invalid device ordinal");
  EXPECT_STREQ(cudaGetErrorName(static_cast<cudaError_t>(12345)), "unrecognized error code");
  std::size_t free_bytes = 0, total = 0;
  void* memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, 1'000'000), cudaSuccess);
  ASSERT_EQ(cudaMemGetInfo(&free_bytes, &total), cudaSuccess);
  EXPECT_EQ(total - free_bytes, 1'000'000u);
}

TEST_F(Runtime, FreshMemoryIsNotZero) {
  int* memory = nullptr;
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&memory), 64), cudaSuccess);
  std::array<int, 16> got{};
  ASSERT_EQ(cudaMemcpy(got.data(), memory, sizeof(got), cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_NE(got[0], 0);
  EXPECT_NE(got[15], 0);
}

ptx::Embedded embedded(const std::string& target) {
  return {.architecture = 90, .text = ".version 8.0\n.target " + target + "\n.address_size 64\n"};
}

TEST(Modules, TheNewestPtxThatTheChipRunsIsChosen) {
  const std::vector<ptx::Embedded> texts{embedded("sm_80"), embedded("sm_90"), embedded("sm_90a"), embedded("sm_100")};
  EXPECT_EQ(choose_ptx(texts, find_chip("h200")), &texts[2]);
  EXPECT_EQ(choose_ptx(texts, find_chip("b200")), &texts[3]);
  EXPECT_EQ(choose_ptx(std::span(texts).subspan(2, 1), find_chip("b200")), nullptr);  // sm_90a is for 9.0 alone
  EXPECT_EQ(choose_ptx(std::span(texts).subspan(3, 1), find_chip("h200")), nullptr);
}

TEST(Exchange, TwoProcessesPassFlags) {
  EXPECT_LT(exchange_round(2, 200, 60s), 20ms);
}

TEST(Exchange, FourProcessesPassFlags) {
  EXPECT_LT(exchange_round(4, 100, 60s), 40ms);
}

TEST(Exchange, AMissingProcessIsNoticed) {
  // A ring of one rank passes its number to itself; with an impossible deadline the run must not be awaited.
  EXPECT_THROW(exchange_round(2, 1'000'000, 0s), std::runtime_error);
}

}  // namespace
}  // namespace pkb::virtual_gpu
