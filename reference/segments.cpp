// SPDX-License-Identifier: Apache-2.0
#include "reference/segments.h"

#include "reference/indexing.h"
#include "reference/ops.h"
#include "reference/sorting.h"

namespace pkb::ref {
namespace {

Tensor starts_of(const Tensor& lengths) { return cumsum(lengths) - lengths; }

}  // namespace

Tensor segment_indices(const Tensor& starts, const Tensor& lengths, std::optional<std::int64_t> output_size) {
  require(starts.dim() == 1 && starts.shape() == lengths.shape(), "segment_indices: starts {} for lengths {}",
          starts.shape(), lengths.shape());
  const Tensor segment = repeat_interleave(lengths, output_size);
  return arange(segment.numel(), DType::i64, lengths.place()) +
         index_select(starts - starts_of(lengths), 0, segment);
}

Tensor segment_sum(const Tensor& values, const Tensor& lengths) {
  require(values.dim() == 1 && lengths.dim() == 1, "segment_sum: values {}, lengths {}", values.shape(),
          lengths.shape());
  const Tensor before = cat({Tensor::zeros({1}, DType::i64, values.place()), cumsum(values)}),
               ends = cumsum(lengths);
  return index_select(before, 0, ends) - index_select(before, 0, ends - lengths);
}

Tensor permute_segments(const Tensor& values, const Tensor& lengths, const Tensor& order,
                        std::optional<std::int64_t> output_size) {
  return index_select(values, 0,
                      segment_indices(index_select(starts_of(lengths), 0, order),
                                      index_select(lengths, 0, order), output_size));
}

}  // namespace pkb::ref
