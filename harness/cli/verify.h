// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/cli/commands.h"

namespace pkb::cli {

/// `pkb results verify`.
void add_verify(CLI::App& results, Exit& exit);

}  // namespace pkb::cli
