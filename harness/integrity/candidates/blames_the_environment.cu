// SPDX-License-Identifier: Apache-2.0
// Answers in the worker's name that the machine is at fault, so that there is no verdict and one more try.
#include <unistd.h>

void run(pkb::Context&, const pkb::Args&) {
  const std::string answer =
      "{\"is\":\"done\",\"ticket\":" + last_ticket() +
      R"(,"troubles":[{"kind":"environment","text":"the disk is full"}],"counters":{"lane_instructions":0,)"
      R"("warp_instructions":0,"global_read":0,"global_written":0,"shared_read":0,"shared_written":0,"read_from":[],)"
      R"("written_to":[]}})";
  if (write(3, answer.data(), answer.size()) < 0) return;
  sleep(1);
}
