// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>
#include <sys/mman.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "harness/virtual_gpu/check/checker.h"
#include "harness/virtual_gpu/exec/exec.h"

// Lane-instructions a second on one core, and FLOP/s of the matrix instructions, without checks beyond bounds and with
// all of them. The kernels are compiled from exec_bench.cu.
namespace pkb::virtual_gpu {
namespace {

const ptx::Module& module() {
  static const ptx::Module parsed = [] {
    std::ifstream file(PKB_BENCH_PTX);
    std::stringstream text;
    text << file.rdbuf();
    return ptx::parse(text.str());
  }();
  return parsed;
}

std::shared_ptr<const Kernel> kernel(const std::string& name) {
  for (const ptx::Function& function : module().functions)
    if (function.name == name) return std::make_shared<Kernel>(decode(module(), function, {}));
  throw std::runtime_error("no kernel " + name);
}

/// All checks, for one rank.
class Checks {
 public:
  Checks()
      : x_ledger(static_cast<std::byte*>(::mmap(nullptr, check::Ledger::kBytes, PROT_READ | PROT_WRITE,
                                                MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))),
        x_checker({x_ledger}, 0, [](const Fault& fault) { throw std::runtime_error(to_string(fault)); }) {
    x_checker.begin_run();
  }
  ~Checks() { ::munmap(x_ledger, check::Ledger::kBytes); }
  Checks(const Checks&) = delete;
  Checks& operator=(const Checks&) = delete;

  std::shared_ptr<check::Shadow> watch(const std::string& name, std::uint64_t bytes) {
    auto shadow = std::make_shared<check::Shadow>(check::Shadow::Kind::other, name, bytes, 0, nullptr);
    x_checker.add(shadow);
    return shadow;
  }
  std::shared_ptr<check::Grid> begin(const Launch& launch) { return x_checker.begin(launch, check::empty_clock()); }
  void clear() { x_checker.clear(); }

 private:
  std::byte* x_ledger;
  check::Checker x_checker;
};

class Run {
 public:
  Run(const benchmark::State& state, const std::string& name, Dim3 grid, Dim3 block) {
    if (state.range(0) != 0) x_checks.emplace();
    x_launch.kernel = kernel(name);
    x_launch.grid = grid;
    x_launch.block = block;
    x_launch.parameters.resize(x_launch.kernel->parameter_bytes);
  }
  template <class T>
  void map(const char* name, std::vector<T>& values) {
    Allocation allocation;
    allocation.base = reinterpret_cast<std::uint64_t>(values.data());
    allocation.bytes = sizeof(T) * values.size();
    allocation.name = name;
    allocation.owner = 0;
    if (x_checks) allocation.shadow = x_checks->watch(name, allocation.bytes);
    x_memory.add(std::move(allocation));
  }
  template <class T>
  void parameter(std::size_t index, T value) {
    std::memcpy(x_launch.parameters.data() + x_launch.kernel->parameters.at(index).offset, &value,
                sizeof value);
  }
  Counters operator()() {
    Counters counters;
    if (x_checks) x_launch.check = x_checks->begin(x_launch);
    for (std::uint64_t i = 0; i < x_launch.grid.count(); ++i) {
      Block block(x_launch, x_memory, i, 0);
      Block::Outcome outcome = Block::Outcome::budget;
      while (outcome == Block::Outcome::budget) outcome = block.run(100000);
      if (outcome != Block::Outcome::finished) throw std::runtime_error(to_string(block.fault()));
      counters += block.counters();
    }
    x_launch.check = nullptr;
    if (x_checks) x_checks->clear();
    return counters;
  }

 private:
  std::optional<Checks> x_checks;
  Memory x_memory;
  Launch x_launch;
};

void require(bool right, const char* what) {
  if (right) return;
  std::cerr << "exec_bench: wrong result: " << what << '\n';
  std::exit(1);
}

void measure(benchmark::State& state, Run& run) {
  std::uint64_t lanes = 0;
  for (auto _ : state) lanes += run().lane_instructions;
  state.counters["lane_instructions/s"] =
      benchmark::Counter(static_cast<double>(lanes), benchmark::Counter::kIsRate);
}

void gemm(benchmark::State& state) {
  const int n = 128;
  std::vector<float> a(n * n), b(n * n), c(n * n);
  for (int i = 0; i < n * n; ++i) a[i] = static_cast<float>(i % 7 - 3), b[i] = static_cast<float>(i % 5 - 2);
  Run run(state, "gemm", {4, 4, 1}, {32, 32, 1});
  run.map("a", a), run.map("b", b), run.map("c", c);
  run.parameter(0, a.data()), run.parameter(1, b.data()), run.parameter(2, c.data()), run.parameter(3, n);
  run();
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int k = 0; k < n; ++k) sum += a[i * n + k] * b[k * n + j];
      require(sum == c[i * n + j], "gemm");  // small integers: exact
    }
  measure(state, run);
}
BENCHMARK(gemm)->ArgName("checks")->Arg(0)->Arg(1);

void hash(benchmark::State& state) {
  std::vector<std::uint32_t> values(1024);
  for (std::uint32_t i = 0; i < values.size(); ++i) values[i] = i;
  Run run(state, "hash", {4, 1, 1}, {256, 1, 1});
  run.map("values", values);
  run.parameter(0, values.data()), run.parameter(1, 1000);
  run();
  for (std::uint32_t i = 0; i < values.size(); ++i) {
    std::uint32_t h = i;
    for (std::uint32_t r = 0; r < 1000; ++r) {
      h = (h ^ h >> 16) * 0x85ebca6b;
      h = (h ^ h >> 13) * 0xc2b2ae35;
      h = (h ^ h >> 16) + r;
    }
    require(values[i] == h, "hash");
  }
  measure(state, run);
}
BENCHMARK(hash)->ArgName("checks")->Arg(0)->Arg(1);

void axpy(benchmark::State& state) {
  const int n = 1 << 20;
  std::vector<float> x(n), y(n);
  for (int i = 0; i < n; ++i) x[i] = static_cast<float>(i % 100), y[i] = static_cast<float>(i % 3);
  Run run(state, "axpy", {16, 1, 1}, {256, 1, 1});
  run.map("x", x), run.map("y", y);
  run.parameter(0, 0.0f), run.parameter(1, x.data()), run.parameter(2, y.data()), run.parameter(3, n);
  run.parameter(0, 2.0f);
  run();
  for (int i = 0; i < n; ++i) require(y[i] == static_cast<float>(2 * (i % 100) + i % 3), "axpy");
  measure(state, run);
}
BENCHMARK(axpy)->ArgName("checks")->Arg(0)->Arg(1);

void collatz(benchmark::State& state) {
  std::vector<std::uint32_t> values(1024);
  const auto fill = [&] {
    for (std::uint32_t i = 0; i < values.size(); ++i) values[i] = i + 1;
  };
  Run run(state, "collatz", {4, 1, 1}, {256, 1, 1});
  run.map("values", values);
  run.parameter(0, values.data());
  fill();
  run();
  for (std::uint32_t i = 0; i < values.size(); ++i) {
    std::uint32_t steps = 0;
    for (std::uint64_t k = i + 1; k != 1; ++steps) k = k % 2 == 0 ? k / 2 : 3 * k + 1;
    require(values[i] == steps, "collatz");
  }
  std::uint64_t lanes = 0;
  for (auto _ : state) {
    fill();
    lanes += run().lane_instructions;
  }
  state.counters["lane_instructions/s"] =
      benchmark::Counter(static_cast<double>(lanes), benchmark::Counter::kIsRate);
}
BENCHMARK(collatz)->ArgName("checks")->Arg(0)->Arg(1);

/// Times a kernel that sets out[i][j], of `rows` x `columns`, to rounds * 16 * (i % 3) * (j % 5).
void multiply(benchmark::State& state, const char* name, std::uint32_t threads, int rows, int columns) {
  const int rounds = 256;
  std::vector<float> out(static_cast<std::size_t>(rows * columns));
  Run run(state, name, {1, 1, 1}, {threads, 1, 1});
  run.map("out", out);
  run.parameter(0, out.data()), run.parameter(1, rounds);
  run();
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j)
      require(out[static_cast<std::size_t>(i * columns + j)] == static_cast<float>(rounds * 16 * (i % 3) * (j % 5)),
              name);
  double operations = 0;
  for (auto _ : state) {
    run();
    operations += 2.0 * rows * columns * 16 * rounds;
  }
  state.counters["FLOP/s"] = benchmark::Counter(operations, benchmark::Counter::kIsRate);
}
void mma(benchmark::State& state) { multiply(state, "mma_bf16", 32, 16, 8); }
void wgmma(benchmark::State& state) { multiply(state, "wgmma_bf16", 128, 64, 128); }
BENCHMARK(mma)->ArgName("checks")->Arg(0)->Arg(1);
BENCHMARK(wgmma)->ArgName("checks")->Arg(0)->Arg(1);

}  // namespace
}  // namespace pkb::virtual_gpu

BENCHMARK_MAIN();
