// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace pkb::report {

/// `text` in one line that commands neither a terminal nor the direction of writing: control characters and
/// those of Unicode that turn text around become spaces. What is longer than `most` bytes ends in "...".
std::string plain(std::string_view text, std::size_t most = 200);

}  // namespace pkb::report
