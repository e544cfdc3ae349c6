// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/exec/fault.h"

#include <fmt/format.h>

namespace pkb::virtual_gpu {

std::string without_folders(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string to_string(const Fault& fault) {
  if (fault.kernel.empty()) return fault.text;  // a call of the program
  std::string place = fault.file;
  if (!place.empty()) place = fmt::format(" ({}:{}{})", fault.file, fault.line, fault.inner.empty() ? "" : ", in " + fault.inner);
  return fmt::format("kernel {}{}, block ({},{},{}), thread ({},{},{}): {}", fault.kernel, place,
                     fault.block.x, fault.block.y, fault.block.z, fault.thread.x, fault.thread.y,
                     fault.thread.z, fault.text);
}

}  // namespace pkb::virtual_gpu
