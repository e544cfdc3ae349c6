// SPDX-License-Identifier: Apache-2.0
// Stopped, not dead: it neither answers nor ends.
#include <signal.h>

void run(pkb::Context&, const pkb::Args&) { raise(SIGSTOP); }
