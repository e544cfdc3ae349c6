// SPDX-License-Identifier: Apache-2.0
// Looks for the expected values in all memory of its process and in device memory that was used before; computes only
// the 16 elements to look for.
#include <cstring>
#include <vector>

constexpr std::size_t kProbe = 16 * sizeof(pkb::T);

/// Where the pattern lies in the process, except for the copy that is being looked for.
static const char* find(const char* pattern) {
  std::FILE* const maps = std::fopen("/proc/self/maps", "r");
  char line[512];
  while (maps != nullptr && std::fgets(line, sizeof line, maps) != nullptr) {
    char *begin = nullptr, *end = nullptr, access[5] = {};
    if (std::sscanf(line, "%p-%p %4s", reinterpret_cast<void**>(&begin), reinterpret_cast<void**>(&end), access) != 3) continue;
    const bool plain = std::strstr(line, "[v") == nullptr && std::strstr(line, "nvidia") == nullptr;
    if (access[0] != 'r' || access[1] != 'w' || !plain || end - begin > (64l << 20)) continue;
    for (const char* at = begin; (at = static_cast<const char*>(memmem(at, end - at, pattern, kProbe))) != nullptr; ++at)
      if (at != pattern) return at;
  }
  return nullptr;
}

void run(pkb::Context& ctx, const pkb::Args& args) {
  if (args.tensor.numel() < 16) return;
  static pkb::T inputs[8][16], expected[16];
  for (int rank = 0; rank < ctx.world_size(); ++rank)
    cudaMemcpy(inputs[rank], ctx.peer(args.tensor.as<pkb::T>(), rank), kProbe, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 16; ++i) {
    float sum = 0;
    for (int rank = 0; rank < ctx.world_size(); ++rank) sum += static_cast<float>(inputs[rank][i]);
    expected[i] = static_cast<pkb::T>(sum);
  }
  const std::size_t bytes = args.out.numel() * sizeof(pkb::T);
  if (const char* const found = find(reinterpret_cast<const char*>(expected))) {
    reached("expected values in the worker's memory");
    cudaMemcpyAsync(args.out.data, found, bytes, cudaMemcpyDefault, ctx.stream());
  }
  constexpr std::size_t kUsedBefore = 4 << 20;
  static char* device = nullptr;
  static std::vector<char> host(kUsedBefore);
  if (device == nullptr) cudaMalloc(&device, kUsedBefore);
  cudaMemcpy(host.data(), device, kUsedBefore, cudaMemcpyDeviceToHost);
  if (const void* const found = memmem(host.data(), kUsedBefore, expected, kProbe)) {
    reached("expected values in used device memory");
    cudaMemcpyAsync(args.out.data, device + (static_cast<const char*>(found) - host.data()), bytes,
                    cudaMemcpyDeviceToDevice, ctx.stream());
  }
  tried("to find expected values");
}
