// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reference/dtype.h"

/// Why an output is wrong: the explanation that fits what a candidate computed.
namespace pkb::diagnosis {

/// Machine-readable, in results and reports.
enum class Class : std::uint8_t {
  unwritten,             ///< the poison from before the run
  stale,                 ///< an earlier iteration's values
  not_reduced,           ///< what the rank had before the collectives
  contribution_missing,  ///< the result without the shares of some ranks
  contribution_doubled,
  permuted_blocks,  ///< right blocks in wrong places
  other_rank,       ///< what another rank should have
  mixed_groups,
  collective_skipped,
  transposed,
  shifted,
  nan_spread,
  coarse_rounding,  ///< near, but in a coarser format
  tail,             ///< only what lies beyond a multiple of a vector's length
  boundary,         ///< only the edges
  unknown,
};
std::string_view name_of(Class each);

/// Root categories of reports.
enum class Category : std::uint8_t { synchronisation, partitioning, numerics, memory_safety };
std::string_view name_of(Category category);
Category category_of(Class each);

/// What the output would be if something were so.
struct Hypothesis {
  Class what = Class::unknown;
  std::string sentence;        ///< "the share of rank 3 is missing"
  std::vector<double> values;  ///< at each of `Evidence::wrong`
};

/// One wrong output of one rank. Row-major.
struct Evidence {
  DType dtype = DType::bf16;
  std::span<const std::int64_t> shape;
  std::span<const double> got, golden, bound;  ///< bound: the error allowed per element
  std::span<const std::byte> bytes;            ///< of `got`
  std::byte poison{};
  int ranks = 1;                             ///< how many blocks outputs are made of
  std::span<const std::int64_t> wrong = {};  ///< what `find_wrong` says
};

/// Indices of the elements beyond their bound, ascending: all of them, or about `most` spread evenly.
std::vector<std::int64_t> find_wrong(const Evidence& evidence, std::int64_t most);

struct Explanation {
  Class what = Class::unknown;
  std::string sentence;
  std::int64_t explained = 0;  ///< of the wrong elements
};

/// How many wrong elements each hypothesis explains.
std::vector<std::int64_t> fits(const Evidence& evidence, std::span<const Hypothesis> hypotheses);

/// The best explanation: the hypotheses and those that need no other run (unwritten, permuted blocks,
/// transposed, shifted, NaN, rounding, places). `unknown` when none explains nine wrong elements of ten.
Explanation explain(const Evidence& evidence, std::span<const Hypothesis> hypotheses);

}  // namespace pkb::diagnosis
