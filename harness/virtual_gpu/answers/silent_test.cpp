// SPDX-License-Identifier: Apache-2.0
// The kernels are right, so the checks of the virtual GPU say nothing about them.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <ostream>
#include <string_view>

#include "harness/virtual_gpu/answers/compute.h"
#include "harness/virtual_gpu/check/ledger.h"
#include "harness/virtual_gpu/virtual_gpu.h"

namespace pkb::virtual_gpu::answers {

void PrintTo(const Answer& answer, std::ostream* out) { *out << answer.name; }

namespace {

/// What is said about the work that `compute` does.
template <class Compute>
std::vector<Fault> faults_of(Compute compute) {
  static const bool enabled = [] {
    void* const ledger = mmap(nullptr, check::Ledger::kBytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (ledger == MAP_FAILED) throw std::bad_alloc();
    enable_checks({static_cast<std::byte*>(ledger)});
    return true;
  }();
  EXPECT_TRUE(enabled);
  begin_run();
  compute();
  end_run();
  review_run();
  std::vector<Fault> faults = take_faults();
  forget_run();
  return faults;
}

class Checked : public testing::TestWithParam<Answer> {};

TEST_P(Checked, NothingIsSaid) {
  for (const Fault& fault : faults_of([] { digest_of(GetParam()); })) ADD_FAILURE() << to_string(fault);
}

TEST(Checks, SpeakOfInputsThatNobodyWrote) {
  const std::vector<Answer> all = all_answers();
  const auto scan = std::ranges::find(all, std::string_view("scan_blelloch"), &Answer::name);
  ASSERT_NE(scan, all.end());
  const auto faults = faults_of([&] {
    void *in = nullptr, *out = nullptr;
    ASSERT_EQ(cudaMalloc(&in, 4 * kInputWords), cudaSuccess);
    ASSERT_EQ(cudaMalloc(&out, scan->bytes), cudaSuccess);
    scan->compute(static_cast<const std::uint32_t*>(in), out);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  });
  ASSERT_FALSE(faults.empty());
  EXPECT_EQ(faults.front().kind, Fault::Kind::uninitialised) << to_string(faults.front());
}

INSTANTIATE_TEST_SUITE_P(Answers, Checked, testing::ValuesIn(all_answers()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace pkb::virtual_gpu::answers
