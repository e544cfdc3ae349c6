// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <chrono>
#include <stdexcept>

#include "harness/virtual_gpu/runtime/conformance_kernels.h"
#include "harness/virtual_gpu/runtime/exchange.h"

namespace {

void* symbol(const char* name) {
  static void* const library = dlopen(PKB_CONFORMANCE_KERNELS, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  return dlsym(library, name);
}
#define KERNELS(name) reinterpret_cast<decltype(&name)>(symbol(#name))

void check(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

void launch_and_wait(benchmark::State& state) {
  const auto launch = KERNELS(launch_empty);
  for (auto _ : state) {
    check(launch(1, 32, 0));
    check(cudaDeviceSynchronize());
  }
}
BENCHMARK(launch_and_wait)->UseRealTime();

void launches_in_a_row(benchmark::State& state) {
  const auto launch = KERNELS(launch_empty);
  for (auto _ : state) {
    for (int i = 0; i < 1000; ++i) check(launch(1, 32, 0));
    check(cudaDeviceSynchronize());
  }
  state.SetItemsProcessed(1000 * state.iterations());
}
BENCHMARK(launches_in_a_row)->UseRealTime()->Unit(benchmark::kMillisecond);

void small_blocks(benchmark::State& state) {
  const auto blocks = static_cast<unsigned>(state.range(0));
  unsigned* memory = nullptr;
  check(cudaMalloc(reinterpret_cast<void**>(&memory), (blocks + 1) * sizeof(unsigned)));
  const auto number = KERNELS(number_blocks);
  for (auto _ : state) {
    number(memory + 1, memory, blocks, nullptr);
    check(cudaDeviceSynchronize());
  }
  state.SetItemsProcessed(blocks * state.iterations());
  check(cudaFree(memory));
}
BENCHMARK(small_blocks)->Arg(20'000)->UseRealTime()->Unit(benchmark::kMillisecond);

// All blocks that the chip holds meet at a counter: each of them polls until the last has come.
void resident_blocks_meet(benchmark::State& state) {
  const auto blocks = static_cast<unsigned>(KERNELS(meet_capacity)());
  unsigned* memory = nullptr;
  check(cudaMalloc(reinterpret_cast<void**>(&memory), (blocks + 1) * sizeof(unsigned)));
  const auto meet_all = KERNELS(meet);
  for (auto _ : state) {
    check(cudaMemsetAsync(memory, 0, sizeof(unsigned), nullptr));
    meet_all(memory, memory + 1, blocks, nullptr);
    check(cudaDeviceSynchronize());
  }
  check(cudaFree(memory));
}
BENCHMARK(resident_blocks_meet)->UseRealTime()->Unit(benchmark::kMillisecond);

// A number passes round a ring of processes; the time is that of one round.
void exchange_between_processes(benchmark::State& state) {
  for (auto _ : state) {
    const auto round = pkb::virtual_gpu::exchange_round(static_cast<int>(state.range(0)), 500, std::chrono::seconds(60));
    state.SetIterationTime(std::chrono::duration<double>(round).count());
  }
}
BENCHMARK(exchange_between_processes)->Arg(2)->Arg(4)->Arg(8)->UseManualTime()->Iterations(3)
    ->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
