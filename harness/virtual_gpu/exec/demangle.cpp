// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/exec/demangle.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace pkb::virtual_gpu {

std::string demangled(const std::string& mangled) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), std::free);
  if (!text) return mangled;
  const std::string name = text.get();
  std::size_t begin = 0, depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (c == '<') ++depth;
    if (c == '>' && depth > 0) --depth;
    const bool anonymous = name.compare(i, 11, "(anonymous ") == 0;
    if (anonymous)
      i = name.find(')', i);
    else if (depth == 0 && c == ' ')
      begin = i + 1;  // after the return type of a template
    else if (depth == 0 && c == '(')
      return name.substr(begin, i - begin);
  }
  return name;
}

}  // namespace pkb::virtual_gpu
