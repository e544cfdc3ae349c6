// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "harness/virtual_gpu/ptx/module.h"

namespace pkb::virtual_gpu::ptx {
namespace {

// The stored kernels many times over, under different names.
const std::string& text() {
  static const std::string all = [] {
    std::ifstream stream(PKB_PTX_TESTDATA "/kernels.ptx");
    const std::string one{std::istreambuf_iterator<char>(stream), {}};
    std::string joined;
    for (int copy = 0; copy < 100; ++copy) {
      std::string text = one.substr(one.find(".func"));
      for (std::size_t at = 0; (at = text.find("_Z", at)) != text.npos; at += 2)
        text.insert(at, 1, char('a' + copy / 26)).insert(at, 1, char('a' + copy % 26)), at += 2;
      joined += text;
    }
    return joined;
  }();
  return all;
}

std::size_t statements(const Module& module) {
  std::size_t count = 0;
  for (const Function& function : module.functions) count += function.body.size();
  return count;
}

void parsing(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(parse(text()));
  state.SetBytesProcessed(std::int64_t(state.iterations() * text().size()));
}

void laying_out(benchmark::State& state) {
  const Module module = parse(text());
  for (auto _ : state)
    for (const Function& function : module.functions)
      if (!function.declared_only) benchmark::DoNotOptimize(lay_out(function));
  state.SetItemsProcessed(std::int64_t(state.iterations() * statements(module)));
}

BENCHMARK(parsing)->Unit(benchmark::kMillisecond);
BENCHMARK(laying_out)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace pkb::virtual_gpu::ptx

int main(int argc, char** argv) {
  using namespace pkb::virtual_gpu::ptx;
  if (const Module module = parse(text()); module.functions.size() != 100 * 7 + 1) {  // and vprintf once
    std::cerr << "the benchmark's text has " << module.functions.size() << " functions\n";
    return EXIT_FAILURE;
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
