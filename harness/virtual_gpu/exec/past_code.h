// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <unordered_map>
#include <vector>

#include "harness/virtual_gpu/exec/exec.h"

namespace pkb::virtual_gpu {

/// Which code of a kernel lies past an instruction: it can be reached from there, and does not lead back. Made
/// as asked for and kept; threads may share it.
class PastCode {
 public:
  bool is_past(const Kernel& kernel, const Instruction& from, const Instruction& at);

 private:
  std::mutex x_mutex;
  std::unordered_map<const Instruction*, std::vector<bool>> x_past;  ///< for each instruction of the code
};

}  // namespace pkb::virtual_gpu
