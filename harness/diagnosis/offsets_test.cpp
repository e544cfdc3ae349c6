// SPDX-License-Identifier: Apache-2.0
// Labelled long: what lies beyond the 2^31st element is checked and explained like the rest.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cmath>
#include <new>

#include "harness/check/check.h"
#include "harness/diagnosis/diagnosis.h"

namespace pkb::diagnosis {
namespace {

constexpr std::int64_t kCount = (std::int64_t{1} << 31) + 6, kFar = kCount - 2;
constexpr std::int64_t kShape[] = {2, kCount / 2};

/// Zeros that take no memory where nobody writes.
template <class T>
class Sparse {
 public:
  Sparse() {
    void* const memory =
        ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    x_data = static_cast<T*>(memory);
  }
  ~Sparse() { ::munmap(x_data, kBytes); }
  Sparse(const Sparse&) = delete;
  Sparse& operator=(const Sparse&) = delete;

  std::span<T> all() const { return {x_data, static_cast<std::size_t>(kCount)}; }
  T& far() const { return x_data[kFar]; }

 private:
  static constexpr std::size_t kBytes = static_cast<std::size_t>(kCount) * sizeof(T);
  T* x_data;
};

class Offsets : public testing::TestWithParam<problem::Check::Kind> {};

TEST_P(Offsets, OfTheOneWrongElement) {
  const Sparse<std::byte> got, baseline;
  const Sparse<double> golden;
  got.far() = std::byte{0x38};  // 1 in e4m3
  problem::Check check;
  check.kind = GetParam();
  const check::Result result = check::compare(check, {.name = "C",
                                                      .dtype = DType::e4m3,
                                                      .shape = kShape,
                                                      .got = got.all(),
                                                      .baseline = baseline.all(),
                                                      .golden = golden.all(),
                                                      .bound = {}});
  EXPECT_EQ(result.count, kCount);
  EXPECT_EQ(result.mismatches, 1);
  EXPECT_EQ(result.first, kFar);
  EXPECT_THAT(result.text, testing::StartsWith(
                               "C: 1 of 2147483654 elements differ, first [1, 1073741825]: got 1, golden 0"));
  EXPECT_EQ(check::first_change(baseline.all(), got.all(), DType::e4m3), kFar);
}

INSTANTIATE_TEST_SUITE_P(Checks, Offsets,
                         testing::Values(problem::Check::Kind::exact, problem::Check::Kind::floating));

TEST(Offsets, OfWhatIsExplained) {
  const Sparse<std::byte> bytes;
  const Sparse<double> got, golden, bound;
  bytes.far() = std::byte{0xff};
  got.far() = std::nan("");
  Evidence evidence{.dtype = DType::e4m3,
                    .shape = kShape,
                    .got = got.all(),
                    .golden = golden.all(),
                    .bound = bound.all(),
                    .bytes = bytes.all(),
                    .poison = std::byte{0xff}};
  const std::vector<std::int64_t> wrong = find_wrong(evidence, 1000);
  EXPECT_THAT(wrong, testing::ElementsAre(kFar));
  evidence.wrong = wrong;
  EXPECT_EQ(explain(evidence, {}).what, Class::unwritten);
  const Hypothesis stale{.what = Class::stale, .sentence = "stale", .values = {std::nan("")}};
  EXPECT_THAT(fits(evidence, {&stale, 1}), testing::ElementsAre(1));
}

}  // namespace
}  // namespace pkb::diagnosis
