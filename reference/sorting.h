// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "reference/tensor.h"

/// Order and prefix sums, with PyTorch's names, along the last dimension. Numeric dtypes; NaN counts as the
/// largest, -0 and +0 as equal. Sorts are stable (equal elements keep their order), which torch.sort only
/// promises when asked.
namespace pkb::ref {

struct Sorted {
  Tensor values;   ///< dtype of the input
  Tensor indices;  ///< int64: where they were
};

struct SortOptions {
  bool descending = false;
};

Sorted sort(const Tensor& a, const SortOptions& options = {});
Tensor argsort(const Tensor& a, const SortOptions& options = {});
/// The k largest in descending order, equal ones in ascending order of their index, as a contract;
/// torch.topk leaves ties open.
Sorted topk(const Tensor& a, std::int64_t k);

struct Unique {
  Tensor values;   ///< ascending
  Tensor inverse;  ///< int64, for each element the place of its value
  Tensor counts;   ///< int64
};
/// Of all elements, 1-d (torch.unique). Waits for cuda, since the extent depends on the data.
Unique unique(const Tensor& a);

/// Inclusive prefix sums; integers become int64. bf16, fp16 and fp32 sum in fp32, each result rounded once.
Tensor cumsum(const Tensor& a);
/// For each value the number of elements of the ascending 1-d `sorted` that are smaller (`right`: or equal):
/// where to insert it (torch.searchsorted). int64, shape of `values`.
struct SearchOptions {
  bool right = false;
};
Tensor searchsorted(const Tensor& sorted, const Tensor& values, const SearchOptions& options = {});

}  // namespace pkb::ref
