// SPDX-License-Identifier: Apache-2.0
#include "reference/iteration.h"

#include <algorithm>

namespace pkb::ref {

int detail::merge_dims(int dims, std::int64_t* extents, std::span<std::int64_t* const> strides) {
  int kept = 0;
  for (int d = 0; d < dims; ++d) {
    if (extents[d] == 1) continue;
    const bool continues = kept > 0 && std::ranges::all_of(strides, [&](const std::int64_t* stride) {
                             return stride[kept - 1] == stride[d] * extents[d];
                           });
    if (continues) {
      extents[kept - 1] *= extents[d];
    } else {
      extents[kept++] = extents[d];
    }
    for (std::int64_t* stride : strides) stride[kept - 1] = stride[d];
  }
  return kept;
}

Shape broadcast_shape(const char* what, const Shape& a, const Shape& b) {
  Shape shape(std::max(a.size(), b.size()), 1);
  for (std::size_t back = 1; back <= shape.size(); ++back) {
    const std::int64_t left = back <= a.size() ? a[a.size() - back] : 1;
    const std::int64_t right = back <= b.size() ? b[b.size() - back] : 1;
    require(left == right || left == 1 || right == 1, "{}: shapes {} and {} do not broadcast", what, a, b);
    shape[shape.size() - back] = left == 1 ? right : left;
  }
  return shape;
}

}  // namespace pkb::ref
