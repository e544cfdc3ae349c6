// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace pkb::ref {

/// Which dimensions a reduction removes.
struct ReduceOptions {
  std::vector<int> dimensions{};  ///< none: all
  bool keep = false;              ///< reduced dimensions stay with extent 1
};

}  // namespace pkb::ref
