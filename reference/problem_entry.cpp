// SPDX-License-Identifier: Apache-2.0
// Compiled into every problem's library: the table that ProblemLibrary looks up.
#include "reference/problem.h"

extern "C" [[gnu::visibility("default")]] const pkb::ProblemEntry pkb_problem{
    .reference = &pkb::reference,
    .error_bound = &pkb::error_bound,
    .make_inputs = &pkb::make_inputs,
    .check_outputs = &pkb::check_outputs,
};
