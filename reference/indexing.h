// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "reference/tensor.h"

/// Elements chosen by int64 indices, with PyTorch's names; any dtype unless it says so. An index out of range
/// throws ShapeError on the host and traps on cuda; negative ones do not count from the end.
namespace pkb::ref {

/// start, start + step, ... below `end` (above it for a negative step).
Tensor arange(std::int64_t start, std::int64_t end, std::int64_t step, DType dtype, Place place);
inline Tensor arange(std::int64_t end, DType dtype, Place place) { return arange(0, end, 1, dtype, place); }

/// out[.., i, ..] = a[.., index[i], ..] along `dimension`; a 1-d index.
Tensor index_select(const Tensor& a, int dimension, const Tensor& index);
/// Rows of a (V, D) table: shape of `index`, then D (torch.nn.functional.embedding).
Tensor embedding(const Tensor& index, const Tensor& table);
/// out[.., j, ..] = a[.., index[.., j, ..], ..] along `dimension`; all other extents alike (torch.gather).
Tensor gather(const Tensor& a, int dimension, const Tensor& index);
/// into[.., index[.., j, ..], ..] = from[.., j, ..]; which of several writers wins is not said
/// (Tensor.scatter_).
void scatter_(Tensor& into, int dimension, const Tensor& index, const Tensor& from);
/// into[index[i], ...] += rows[i, ...], added in ascending i and rounded at each addition, so that the result
/// depends on nothing else (Tensor.index_add_ of dimension 0, which leaves the order open). Numeric dtypes.
void index_add_(Tensor& into, const Tensor& index, const Tensor& rows);
/// into[index[i], ...] = rows[i, ...] (Tensor.index_copy_ of dimension 0).
void index_copy_(Tensor& into, const Tensor& index, const Tensor& rows);
/// (..., classes) of 0 and 1, int64 (torch.nn.functional.one_hot).
Tensor one_hot(const Tensor& index, std::int64_t classes);
/// How often each of 0 .. bins - 1 occurs, int64; all values must be below `bins`, unlike torch.bincount.
Tensor bincount(const Tensor& index, std::int64_t bins);

/// The flat row-major indices of elements that are not 0, ascending: torch.nonzero of the flattened mask. Any
/// numeric dtype. Waits for cuda, since the result's extent depends on the data.
Tensor flatnonzero(const Tensor& mask);
/// Elements of `a` where the mask is not 0, in row-major order, 1-d (torch.masked_select). Waits for cuda.
Tensor masked_select(const Tensor& a, const Tensor& mask);
/// i repeated repeats[i] times, for all i: the index of torch.repeat_interleave. Waits for cuda, unless `output_size` says
/// what `repeats` add up to.
Tensor repeat_interleave(const Tensor& repeats, std::optional<std::int64_t> output_size = {});

/// Elements in the opposite order along a dimension.
Tensor flip(const Tensor& a, int dimension);
/// A (rows, columns) mask of 1 where column <= row + diagonal (torch.tril of ones).
Tensor tril_mask(std::int64_t rows, std::int64_t columns, std::int64_t diagonal, Place place);
/// `a` with `before` and `after` zeros along a dimension (torch.nn.functional.pad).
Tensor pad(const Tensor& a, int dimension, std::int64_t before, std::int64_t after);

}  // namespace pkb::ref
