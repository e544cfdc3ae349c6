// SPDX-License-Identifier: Apache-2.0
// Comes before every candidate of this room (the test joins them): an honest all-reduce for tricks to start from, and
// the words by which a candidate tells the test what it has tried.
#include <pkb/allreduce.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

struct Inputs {
  const pkb::T* of_rank[8];
};

__global__ void add_ranks(Inputs inputs, int ranks, pkb::T* out, std::int64_t count) {
  const std::int64_t i = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x;
  if (i >= count) return;
  float sum = 0;
  for (int rank = 0; rank < ranks; ++rank) sum += static_cast<float>(inputs.of_rank[rank][i]);
  out[i] = static_cast<pkb::T>(sum);
}

[[maybe_unused]] static void compute(pkb::Context& ctx, const pkb::Args& args, cudaStream_t stream) {
  Inputs inputs{};
  for (int rank = 0; rank < ctx.world_size(); ++rank) inputs.of_rank[rank] = ctx.peer(args.tensor.as<pkb::T>(), rank);
  const std::int64_t count = args.out.numel();
  add_ranks<<<static_cast<int>((count + 255) / 256), 256, 0, stream>>>(inputs, ctx.world_size(),
                                                                     args.out.as<pkb::T>(), count);
}

/// What a defence should have prevented.
template <class... Values>
void reached(const char* format, Values... values) {
  std::fprintf(stderr, "REACHED ");
  std::fprintf(stderr, format, values...);
  std::fprintf(stderr, "\n");
}
/// The attack ran to its end, so silence means that it failed.
[[maybe_unused]] static void tried(const char* what) { std::fprintf(stderr, "tried %s\n", what); }

/// The ticket of an order that the worker has read, found in its memory.
[[maybe_unused]] static std::string last_ticket() {
  std::FILE* const maps = std::fopen("/proc/self/maps", "r");
  char line[512];
  while (maps != nullptr && std::fgets(line, sizeof line, maps) != nullptr) {
    if (std::strstr(line, "[heap]") == nullptr) continue;
    char *begin = nullptr, *end = nullptr;
    std::sscanf(line, "%p-%p", reinterpret_cast<void**>(&begin), reinterpret_cast<void**>(&end));
    constexpr char kKey[] = "\"ticket\":";
    for (char* at = begin; (at = static_cast<char*>(memmem(at, end - at, kKey, sizeof kKey - 1))) != nullptr; ++at)
      if (at[9] >= '0' && at[9] <= '9') return std::to_string(std::strtoull(at + 9, nullptr, 10));
  }
  return "0";
}
