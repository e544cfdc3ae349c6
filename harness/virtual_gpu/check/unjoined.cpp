// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/check/unjoined.h"

#include <set>
#include <string>

#include <fmt/format.h>

namespace pkb::virtual_gpu::check {

std::vector<Fault> unjoined_work(const Ledger& ledger, const Clock& end, const Clock& all) {
  std::vector<Fault> faults;
  if (ledger.stopped()) return faults;
  std::set<std::string> named;
  auto block = static_cast<std::uint32_t>(ledger.rank()) * kBlocksPerRank;
  for (auto launch = ledger.launch_of(block); launch; launch = ledger.launch_of(block)) {
    const Stamp first = Stamp::of(thread_of(launch->first, 0, 0), 1);
    const bool joined = !all.knows(first) || end.knows(first);
    if (!joined && named.insert(launch->name).second)
      faults.push_back({.kind = Fault::Kind::race,
                        .text = fmt::format(
                            "race with the end of the run: {} may still run when the stream of the run has "
                            "ended, since it was submitted to another one that nothing joins to it: record "
                            "an event behind it and let the stream of the run wait for that",
                            launch->name),
                        .kernel = {},
                        .file = {}});
    block = launch->end;
    if (rank_of(block) != static_cast<std::uint32_t>(ledger.rank())) break;
  }
  return faults;
}

}  // namespace pkb::virtual_gpu::check
