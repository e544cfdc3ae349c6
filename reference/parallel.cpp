// SPDX-License-Identifier: Apache-2.0
#include "reference/parallel.h"

#include <cblas.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

namespace pkb::ref {
namespace {

std::atomic<int>& threads_allowed() {
  static std::atomic<int> threads = usable_cores();
  return threads;
}

}  // namespace

int usable_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

void set_host_threads(int threads) {
  threads_allowed() = std::max(1, threads);
  openblas_set_num_threads(threads_allowed());
}

int host_threads() { return threads_allowed(); }

void parallel_for(std::int64_t count, std::int64_t grain,
                  const std::function<void(std::int64_t begin, std::int64_t end)>& body) {
  const std::int64_t pieces =
      std::clamp<std::int64_t>(count / std::max<std::int64_t>(1, grain), 1, host_threads());
  if (pieces == 1) {
    if (count > 0) body(0, count);
    return;
  }
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(pieces));
  const auto work = [&](std::int64_t piece) {
    try {
      body(count * piece / pieces, count * (piece + 1) / pieces);
    } catch (...) {
      failures[static_cast<std::size_t>(piece)] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::int64_t piece = 1; piece < pieces; ++piece) threads.emplace_back(work, piece);
    work(0);
  }
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

}  // namespace pkb::ref
