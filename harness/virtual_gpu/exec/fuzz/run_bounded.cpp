// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/exec/fuzz/run_bounded.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "harness/virtual_gpu/exec/exec.h"

namespace pkb::virtual_gpu {
namespace {

constexpr std::size_t kBufferBytes = 4096;
constexpr int kTurns = 32;
constexpr std::uint32_t kTurn = 256;
constexpr std::size_t kMostShared = 227 * 1024;  // a launch with more never starts

void run_kernel(std::shared_ptr<const Kernel> kernel, unsigned threads, unsigned seed) {
  std::vector<std::uint64_t> buffer(kBufferBytes / sizeof(std::uint64_t));
  Memory memory;
  memory.add({.base = reinterpret_cast<std::uint64_t>(buffer.data()), .bytes = kBufferBytes, .name = "buffer", .owner = 0});
  Launch launch;
  launch.kernel = kernel;
  launch.block.x = std::clamp(threads, 1u, kernel->max_threads);
  launch.parameters.resize(kernel->parameter_bytes);
  const auto address = reinterpret_cast<std::uint64_t>(buffer.data());
  std::memcpy(launch.parameters.data(), &address, std::min(sizeof address, launch.parameters.size()));
  Block block(launch, memory, 0, 0);
  for (int turn = 0; turn < kTurns; ++turn) {
    const Block::Outcome outcome = block.run(kTurn, seed);
    if (outcome == Block::Outcome::finished || outcome == Block::Outcome::fault) break;
    block.waits(kTurn);
  }
}

}  // namespace

void run_bounded(std::string_view text, unsigned threads, unsigned seed) {
  try {
    const ptx::Module module = ptx::parse(text);
    Symbols symbols;
    std::uint64_t next = 0x1000;  // of functions; nothing is read there
    for (const ptx::Function& function : module.functions) symbols[function.name] = next += 16;
    for (const ptx::Function& function : module.functions) {
      if (!function.kernel || function.declared_only) continue;
      auto kernel = std::make_shared<Kernel>(decode(module, function, symbols));
      if (kernel->static_shared <= kMostShared) run_kernel(std::move(kernel), threads, seed);
    }
  } catch (const ptx::ParseError&) {
  }
}

}  // namespace pkb::virtual_gpu
