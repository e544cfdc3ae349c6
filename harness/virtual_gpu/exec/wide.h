// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/virtual_gpu/exec/checks.h"
#include "harness/virtual_gpu/exec/decode.h"
#include "harness/virtual_gpu/exec/space.h"

/// ld, st, atom.exch and atom.cas of 128 bits, which builders of other sizes hand on.
namespace pkb::virtual_gpu {

void emit_wide_load(Decoder& decoder, const ptx::Statement& statement, const Place& place, Ordering ordering);
void emit_wide_store(Decoder& decoder, const ptx::Statement& statement, const Place& place,
                     Ordering ordering);
/// `swaps`: cas, else exch.
void emit_wide_atomic(Decoder& decoder, const ptx::Statement& statement, const Place& place,
                      Ordering ordering, bool swaps);

}  // namespace pkb::virtual_gpu
