// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "harness/virtual_gpu/check/ledger.h"
#include "harness/virtual_gpu/exec/fault.h"

namespace pkb::virtual_gpu::check {

/// "a.cu:12", or "" when unknown.
std::string place_text(const Ledger& ledger, PlaceId place);
/// "a write by rank 1, kernel k (a.cu:12), block (0,0,0), thread (3,0,0)".
std::string describe(const Ledger& ledger, Stamp stamp, PlaceId place);
/// A fault without a text, at the place of an access.
Fault fault_at(const Ledger& ledger, Fault::Kind kind, PlaceId place, Stamp stamp);

}  // namespace pkb::virtual_gpu::check
