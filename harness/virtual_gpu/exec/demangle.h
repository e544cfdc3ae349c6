// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace pkb::virtual_gpu {

/// A function or variable as the source names it, without return type and parameters: "a::f<int>" for
/// "void a::f<int>(int, b)". What is no mangled name stays as it is.
std::string demangled(const std::string& name);

}  // namespace pkb::virtual_gpu
