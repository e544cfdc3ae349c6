// SPDX-License-Identifier: Apache-2.0
#include <pkb/allreduce.h>

void setup(pkb::Context&, const pkb::Args&) {}
