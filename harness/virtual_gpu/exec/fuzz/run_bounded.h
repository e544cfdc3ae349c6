// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// What the fuzz targets of this room do with a text.
namespace pkb::virtual_gpu {

/// Decodes every kernel of a module and runs one block of each for a bounded number of instructions over a
/// small buffer, whose address is the first parameter. Whatever the text says, that ends in ParseError, which
/// is swallowed, a fault, or an outcome.
void run_bounded(std::string_view text, unsigned threads, unsigned seed);

}  // namespace pkb::virtual_gpu
