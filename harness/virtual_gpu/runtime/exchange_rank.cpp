// SPDX-License-Identifier: Apache-2.0
// One process of exchange_round(): KERNELS PAGE RESULT RANK RANKS ROUNDS, where PAGE and RESULT are descriptors.
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "harness/virtual_gpu/runtime/conformance_kernels.h"
#include "harness/virtual_gpu/virtual_gpu.h"

int main(int count, char** arguments) {
  if (count != 7) return 2;
  std::array<int, 5> numbers;
  for (int i = 0; i < 5; ++i) numbers[i] = std::stoi(arguments[i + 2]);
  const auto [page_descriptor, result, rank, ranks, rounds] = numbers;

  constexpr std::size_t kPage = 4096, kFlagApart = 256;
  void* const page_here = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, page_descriptor, 0);
  if (page_here == MAP_FAILED) return 3;
  pkb::virtual_gpu::configure({.rank = rank, .ranks = ranks});
  void* const page = pkb::virtual_gpu::map_memory(page_here, kPage);
  std::array<unsigned*, 2> flags{};  // mine, my neighbour's
  for (int i = 0; i < ranks; ++i) {
    auto* flag = static_cast<std::byte*>(page) + kFlagApart * static_cast<std::size_t>(i);
    pkb::virtual_gpu::register_memory(flag, kFlagApart, "flag of rank " + std::to_string(i), i);
    if (i == rank) flags[0] = reinterpret_cast<unsigned*>(flag);
    if (i == (rank + 1) % ranks) flags[1] = reinterpret_cast<unsigned*>(flag);
  }
  void* const library = dlopen(arguments[1], RTLD_NOW);
  if (library == nullptr) return 4;
  const auto pass = reinterpret_cast<decltype(&pass_round)>(dlsym(library, "pass_round"));

  // The first round also waits for all processes to have started.
  const bool first = rank == 0;
  pass(flags[0], flags[1], 1, 1, first, nullptr);
  if (cudaDeviceSynchronize() != cudaSuccess) return 5;
  const auto start = std::chrono::steady_clock::now();
  pass(flags[0], flags[1], 2, 1 + static_cast<unsigned>(rounds), first, nullptr);
  if (cudaDeviceSynchronize() != cudaSuccess) {
    for (const pkb::virtual_gpu::Fault& fault : pkb::virtual_gpu::take_faults()) {
      std::fprintf(stderr, "%s\n", to_string(fault).c_str());
    }
    return 6;
  }
  const std::int64_t took = std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
  if (first && write(result, &took, sizeof(took)) != sizeof(took)) return 7;
  return 0;
}
