// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstdio>
#include <exception>

#include "harness/worker/worker.h"

/// Started by a judge with the control socket as descriptor 3 and nothing else.
int main() {
  try {
    pkb::worker::Worker(pkb::worker::Channel(pkb::FileDescriptor(3))).serve();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "worker: %s\n", error.what());
    std::fflush(stderr);
    ::_exit(70);
  }
  // Not exit(): handlers that the candidate registered have nothing to do any more.
  std::fflush(nullptr);
  ::_exit(0);
}
