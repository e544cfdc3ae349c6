// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "harness/virtual_gpu/exec/exec.h"

/// Runs PTX snippets on one block, for tests.
namespace pkb::virtual_gpu {

/// A kernel `k` with one pointer parameter in %rd0, registers of every type and thread index %r0; the body
/// follows.
inline std::string kernel_text(const std::string& body) {
  return fmt::format(R"(.version 9.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 buffer, .param .u64 other)
{{
.reg .pred %p<16>;
.reg .b16 %h<32>;
.reg .b32 %r<64>;
.reg .f32 %f<64>;
.reg .b64 %rd<64>;
.reg .f64 %fd<32>;
ld.param.u64 %rd0, [buffer];
mov.u32 %r0, %tid.x;
{}
ret;
}}
)",
                     body);
}

/// One block, or the blocks of one cluster, and their memory.
class TestRun {
 public:
  explicit TestRun(const std::string& text, std::uint32_t threads = 32, std::size_t words = 4096)
      : x_words(words), x_module(ptx::parse(text)) {
    x_memory.add({.base = address(), .bytes = 4 * words, .name = "buffer", .owner = 0});
    for (const ptx::Function& function : x_module.functions)
      if (function.kernel) x_launch.kernel = std::make_shared<Kernel>(decode(x_module, function, x_symbols));
    x_launch.block = {threads, 1, 1};
    set_parameters({address(), 0});
  }

  std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(x_words.data()); }
  void set_parameters(std::initializer_list<std::uint64_t> values) {
    std::vector<std::byte> bytes(x_launch.kernel->parameter_bytes);
    std::memcpy(bytes.data(), std::data(values), std::min(bytes.size(), 8 * values.size()));
    x_launch.parameters = bytes;
  }
  std::uint32_t& word(std::size_t index) { return x_words[index]; }
  float real(std::size_t index) { return std::bit_cast<float>(x_words[index]); }
  std::uint64_t quad(std::size_t index) {
    return std::uint64_t{x_words[2 * index + 1]} << 32 | x_words[2 * index];
  }
  Launch& launch() { return x_launch; }
  Memory& memory() { return x_memory; }
  Block& block() {
    if (!x_block) {
      const std::vector<std::uint32_t> sms(x_launch.cluster.count());
      x_block = std::make_unique<Block>(x_launch, x_memory, 0, sms);
    }
    return *x_block;
  }
  /// Runs until the block ends, faults or polls; `budget` outcomes go on up to a bound.
  Block::Outcome run(std::uint64_t seed = 0) {
    for (int i = 0; i < 1000; ++i)
      if (const auto outcome = block().run(10000, seed); outcome != Block::Outcome::budget) return outcome;
    return Block::Outcome::budget;
  }

 private:
  std::vector<std::uint32_t> x_words;
  Symbols x_symbols;
  ptx::Module x_module;
  Memory x_memory;
  Launch x_launch;
  std::unique_ptr<Block> x_block;
};

}  // namespace pkb::virtual_gpu
