// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/exec/matrix_probe.h"

#include <bit>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "harness/virtual_gpu/exec/exec.h"

namespace pkb::virtual_gpu {
namespace {

constexpr int kIn = 16, kOut = 4;  // words of a thread

std::uint64_t mix(std::uint64_t z) {  // splitmix64
  z += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

struct Format {
  std::string_view name;
  int bits, exponent_bits, fraction_bits;
};
constexpr Format kFloats[] = {{"f16", 16, 5, 10}, {"bf16", 16, 8, 7}, {"tf32", 32, 8, 10},
                              {"e4m3", 8, 4, 3},  {"e5m2", 8, 5, 2},  {"f32", 32, 8, 23}};

/// One element of a type; an unknown type is an integer, of which all bits are good.
std::uint32_t element(const Format& format, MatrixInputs inputs, std::uint64_t seed) {
  const std::uint64_t bits = mix(seed);
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  // tf32 lies in the upper bits of its register.
  const int shift = format.name == "tf32" ? 13 : 0;
  const auto sign = static_cast<std::uint32_t>(bits >> 63) << (format.exponent_bits + format.fraction_bits);
  const auto fraction = static_cast<std::uint32_t>(bits) & ((1u << format.fraction_bits) - 1);
  std::uint32_t exponent = 0, low = fraction;
  switch (inputs) {
    case MatrixInputs::exact: {  // 0, 1, 2, 3 with either sign
      const auto value = static_cast<std::uint32_t>(bits >> 32 & 3);
      exponent = value == 0 ? 0 : static_cast<std::uint32_t>(bias) + (value > 1 ? 1 : 0);
      low = value == 3 ? 1u << (format.fraction_bits - 1) : 0;
      break;
    }
    case MatrixInputs::general:
      exponent = static_cast<std::uint32_t>(bias - 2) + static_cast<std::uint32_t>(bits >> 32 & 3);
      break;
    case MatrixInputs::special:
      if ((bits >> 32 & 31) == 0)
        exponent = (1u << format.exponent_bits) - 1, low = (bits >> 40 & 1) != 0 ? 0 : fraction;
      else
        exponent = (bits >> 37 & 7) == 0 ? 0 : static_cast<std::uint32_t>(bias - 3) + static_cast<std::uint32_t>(bits >> 44 & 7);
      break;
  }
  return (sign | exponent << format.fraction_bits | low) << shift;
}

std::uint32_t word(std::string_view type, MatrixInputs inputs, std::uint64_t seed) {
  for (const Format& format : kFloats)
    if (format.name == type) {
      std::uint32_t bits = 0;
      for (int at = 0; at < 32; at += format.bits)
        bits |= element(format, inputs, seed * 32 + static_cast<std::uint64_t>(at)) << at;
      return bits;
    }
  return static_cast<std::uint32_t>(mix(seed));
}

std::string registers(std::string_view prefix, int first, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += fmt::format("{}%{}{}", i == 0 ? "" : ", ", prefix, first + i);
  return "{" + text + "}";
}

}  // namespace

std::vector<MatrixProbe> matrix_probes() {
  std::vector<MatrixProbe> all;
  const auto add = [&](std::string_view size, int words, std::string_view more, const char* a, const char* b,
                       const char* sum, const char* operation = "") {
    const bool tall = size.starts_with("m16");
    const int tiles = tall ? 2 : 1;
    all.push_back({fmt::format("mma.sync.aligned.{}.row.col{}.{}.{}.{}.{}{}", size, more, sum, a, b, sum, operation), a, b,
                   sum, words * tiles, words, std::string_view(sum) == "f16" ? tiles : 2 * tiles});
  };
  for (const char* sum : {"f32", "f16"}) {
    add("m16n8k8", 1, "", "f16", "f16", sum), add("m16n8k16", 2, "", "f16", "f16", sum);
    for (const char* a : {"e4m3", "e5m2"})
      for (const char* b : {"e4m3", "e5m2"}) add("m16n8k32", 2, "", a, b, sum), add("m16n8k16", 1, "", a, b, sum);
  }
  add("m16n8k8", 1, "", "bf16", "bf16", "f32"), add("m16n8k16", 2, "", "bf16", "bf16", "f32");
  add("m16n8k4", 1, "", "tf32", "tf32", "f32"), add("m16n8k8", 2, "", "tf32", "tf32", "f32");
  for (const char* more : {"", ".satfinite"})
    for (const char* a : {"s8", "u8"})
      for (const char* b : {"s8", "u8"})
        add("m8n8k16", 1, more, a, b, "s32"), add("m16n8k16", 1, more, a, b, "s32"),
            add("m16n8k32", 2, more, a, b, "s32");
  for (const char* a : {"s4", "u4"})
    for (const char* b : {"s4", "u4"})
      add("m8n8k32", 1, "", a, b, "s32"), add("m16n8k32", 1, "", a, b, "s32"), add("m16n8k64", 2, "", a, b, "s32");
  for (const char* operation : {".xor.popc", ".and.popc"})
    add("m8n8k128", 1, "", "b1", "b1", "s32", operation), add("m16n8k256", 2, "", "b1", "b1", "s32", operation);
  return all;
}

std::vector<std::uint32_t> matrix_probe_inputs(const MatrixProbe& probe, MatrixInputs inputs) {
  std::vector<std::uint32_t> words;
  for (std::uint64_t thread = 0; thread < kLanes; ++thread)
    for (int i = 0; i < kIn; ++i) {
      const std::string& type = i < 8 ? probe.a : i < 12 ? probe.b : probe.sum;
      words.push_back(word(type, inputs, thread * kIn + static_cast<std::uint64_t>(i) + 1));
    }
  return words;
}

std::string matrix_probe_module(const std::vector<MatrixProbe>& all) {
  std::string text = ".version 8.8\n.target sm_90a\n.address_size 64\n";
  for (std::size_t n = 0; n < all.size(); ++n) {
    const MatrixProbe& probe = all[n];
    const bool real = probe.sum == "f32";
    const std::string_view prefix = real ? "f" : "r";
    text += fmt::format(
        ".visible .entry m{}(.param .u64 out, .param .u64 in)\n{{\n.reg .b32 %r<24>; .reg .f32 %f<24>; .reg .b32 %i; "
        ".reg .b64 %to, %from, %at;\nld.param.u64 %to, [out]; ld.param.u64 %from, [in]; mov.u32 %i, %tid.x;\n"
        "mul.wide.u32 %at, %i, {}; add.s64 %from, %from, %at; mul.wide.u32 %at, %i, {}; add.s64 %to, %to, %at;\n",
        n, 4 * kIn, 4 * kOut);
    for (int i = 0; i < kIn; ++i) text += fmt::format("ld.global.b32 %r{}, [%from+{}];\n", i, 4 * i);
    for (int i = 12; i < kIn; ++i) text += fmt::format("mov.b32 %f{}, %r{};\n", i, i);
    text += fmt::format("{} {}, {}, {}, {};\n", probe.opcode, registers(prefix, 16, probe.words_sum),
                        registers("r", 0, probe.words_a), registers("r", 8, probe.words_b),
                        registers(prefix, 12, probe.words_sum));
    for (int i = 0; i < probe.words_sum; ++i)
      text += fmt::format("st.global.{} [%to+{}], %{}{};\n", real ? "f32" : "b32", 4 * i, prefix, 16 + i);
    text += "ret;\n}\n";
  }
  return text;
}

std::vector<std::uint32_t> run_matrix_probe(const MatrixProbe& probe, MatrixInputs inputs) {
  const ptx::Module module = ptx::parse(matrix_probe_module({probe}));
  std::vector<std::uint32_t> in = matrix_probe_inputs(probe, inputs), out(kLanes * kOut);
  Memory memory;
  for (auto* words : {&in, &out}) {
    Allocation allocation;
    allocation.base = reinterpret_cast<std::uint64_t>(words->data());
    allocation.bytes = 4 * words->size();
    allocation.name = "words";
    allocation.owner = 0;
    memory.add(std::move(allocation));
  }
  const std::uint64_t parameters[] = {reinterpret_cast<std::uint64_t>(out.data()),
                                      reinterpret_cast<std::uint64_t>(in.data())};
  Launch launch;
  launch.kernel = std::make_shared<Kernel>(decode(module, module.functions.at(0), {}));
  launch.block = {kLanes, 1, 1};
  launch.parameters.resize(sizeof parameters);
  std::memcpy(launch.parameters.data(), parameters, sizeof parameters);
  Block block(launch, memory, 0, 0);
  if (block.run(100000) != Block::Outcome::finished) throw std::runtime_error(to_string(block.fault()));
  return out;
}

}  // namespace pkb::virtual_gpu
