// SPDX-License-Identifier: Apache-2.0
// The rest of the CUDA runtime. A candidate that imports one of these loads, and hears which call is missing when
// it makes it.
//
// The runtime's header stays out, so that the functions need no prototypes: all but a few return an error code, and
// in the calling conventions of our machines a function may ignore arguments that it was given.
#include "harness/virtual_gpu/runtime/unsupported.h"

#define PKB_UNSUPPORTED_CALL(name) \
  extern "C" int name() { return pkb::virtual_gpu::unsupported_call(#name); }
#include "harness/virtual_gpu/runtime/unsupported.inc"
