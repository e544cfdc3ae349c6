// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/problem/json_file.h"

namespace pkb::problem {

/// Validates against `problems/schema.json`, which is built in. @throws InputError about the field that is
/// deepest in the document; the schema's descriptions say what is expected there.
void validate(const JsonFile& file);

}  // namespace pkb::problem
