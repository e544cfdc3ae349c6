// SPDX-License-Identifier: Apache-2.0
#include <pkb/allreduce.h>

#include <cstdlib>

void run(pkb::Context&, const pkb::Args&) { std::exit(0); }
