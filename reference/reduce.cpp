// SPDX-License-Identifier: Apache-2.0
#include "reference/reduce.h"

namespace pkb::ref::detail {

ReduceWalk reduce_walk(const Tensor& in, const std::vector<int>& dimensions, bool keep, Shape& out) {
  require(in.dim() <= kMaxDims, "reduce: shape {} has more than {} dimensions", in.shape(), kMaxDims);
  std::vector<bool> goes(static_cast<std::size_t>(in.dim()), dimensions.empty());
  for (const int dimension : dimensions) {
    const int d = dimension < 0 ? dimension + in.dim() : dimension;
    require(d >= 0 && d < in.dim() && !goes[std::size_t(d)], "reduce: dimension {} of {}", dimension,
            in.shape());
    goes[std::size_t(d)] = true;
  }
  ReduceWalk result;
  result.outer.count = result.inner.count = 1;
  for (std::size_t d = 0; d < goes.size(); ++d) {
    Walk<1>& walk = goes[d] ? result.inner : result.outer;
    walk.extents[walk.dims] = in.shape()[d];
    walk.strides[0][walk.dims++] = in.strides()[d];
    walk.count *= in.shape()[d];
    if (!goes[d])
      out.push_back(in.shape()[d]);
    else if (keep)
      out.push_back(1);
  }
  for (Walk<1>* walk : {&result.outer, &result.inner}) {
    std::int64_t* const strides[] = {walk->strides[0]};
    walk->dims = merge_dims(walk->dims, walk->extents, strides);
  }
  return result;
}

}  // namespace pkb::ref::detail
