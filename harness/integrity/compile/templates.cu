// SPDX-License-Identifier: Apache-2.0
// Each level instantiates two others: 2^200 instantiations.
template <int depth, long path>
struct Bomb {
  static constexpr long value = Bomb<depth - 1, 2 * path>::value + Bomb<depth - 1, 2 * path + 1>::value;
};
template <long path>
struct Bomb<0, path> {
  static constexpr long value = 1;
};
long fuse = Bomb<200, 0>::value;
