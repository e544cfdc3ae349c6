// SPDX-License-Identifier: Apache-2.0
#include "reference/testing/problem.h"

#include <gtest/gtest.h>

#include <string>

namespace pkb::ref::testing {
namespace {

Tensors promoted(const Tensors& tensors) {
  Tensors result;
  for (const auto& [name, tensor] : tensors)
    result.set(name, info(tensor.dtype()).floating ? tensor.to(DType::f64) : tensor);
  return result;
}

void expect_once(const ProblemLibrary& library, Context& ctx, const Tensors& in, const Tensors& expected) {
  Tensors before;
  for (const auto& [name, tensor] : in) before.set(name, tensor.clone());
  const Tensors out = library.reference(ctx, in);
  EXPECT_EQ(out.size(), expected.size());
  for (const auto& [name, tensor] : expected) {
    EXPECT_EQ(out[name].shape(), tensor.shape()) << name;
    EXPECT_TRUE(equal(out[name], tensor)) << name << ": " << ::testing::PrintToString(out[name].values())
                                          << " is not " << ::testing::PrintToString(tensor.values());
    for (const auto& [input, given] : in)
      EXPECT_TRUE(given.numel() == 0 || given.data() != out[name].data()) << name << " aliases " << input;
  }
  for (const auto& [name, tensor] : in) EXPECT_TRUE(equal(tensor, before[name])) << name << " was changed";
}

}  // namespace

void expect_outputs(std::string_view problem, int ranks, const ContextOptions& options,
                    const std::function<Exchange(int rank)>& exchange) {
  with_ranks(ranks, options, [&](Context& ctx) {
    SCOPED_TRACE(std::string(problem) + " on rank " + std::to_string(ctx.world().rank()));
    const ProblemLibrary library(problem);
    const Exchange mine = exchange(ctx.world().rank());
    expect_once(library, ctx, mine.in, mine.out);
    expect_once(library, ctx, promoted(mine.in), promoted(mine.out));
  });
}

}  // namespace pkb::ref::testing
