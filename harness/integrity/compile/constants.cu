// SPDX-License-Identifier: Apache-2.0
// A constant that takes 2^60 steps to compute.
constexpr long steps(int depth) { return depth == 0 ? 1 : steps(depth - 1) + steps(depth - 1); }
constexpr long fuse = steps(60);
