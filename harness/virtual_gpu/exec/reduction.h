// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

/// How integers are combined, by atomics one after the other and by multimem over the replicas.
namespace pkb::virtual_gpu {

template <class T>
T least(T a, T b) {
  return std::min(a, b);
}
template <class T>
T greatest(T a, T b) {
  return std::max(a, b);
}
template <class T>
T and_(T a, T b) {
  return a & b;
}
template <class T>
T or_(T a, T b) {
  return a | b;
}
template <class T>
T xor_(T a, T b) {
  return a ^ b;
}

}  // namespace pkb::virtual_gpu
