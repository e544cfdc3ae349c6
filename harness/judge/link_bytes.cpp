// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/link_bytes.h"

#include <algorithm>
#include <vector>

namespace pkb::judge {

LinkBytes busiest_link(const worker::Counters& counted, MPI_Comm comm) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  const auto self = static_cast<std::size_t>(rank), all = static_cast<std::size_t>(ranks);
  std::vector<std::uint64_t> sent(all), received(all);
  // A worker may answer with fewer or more ranks than there are.
  for (std::size_t peer = 0; peer < std::min(all, counted.read_from.size()); ++peer)
    if (peer != self) {
      sent[peer] += counted.read_from[peer];
      received[self] += counted.read_from[peer];
    }
  for (std::size_t peer = 0; peer < std::min(all, counted.written_to.size()); ++peer)
    if (peer != self) {
      sent[self] += counted.written_to[peer];
      received[peer] += counted.written_to[peer];
    }
  for (std::vector<std::uint64_t>* bytes : {&sent, &received})
    MPI_Allreduce(MPI_IN_PLACE, bytes->data(), ranks, MPI_UINT64_T, MPI_SUM, comm);
  return {.sent = std::ranges::max(sent), .received = std::ranges::max(received)};
}

}  // namespace pkb::judge
