// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/gather.h"

#include <string>

namespace pkb::judge {

std::vector<nlohmann::json> gather(const nlohmann::json& mine, MPI_Comm comm) {
  int rank = 0, ranks = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  const std::string text = mine.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  const int length = static_cast<int>(text.size());
  std::vector<int> lengths(static_cast<std::size_t>(rank == 0 ? ranks : 0)), starts(lengths.size());
  MPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, comm);
  int total = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    starts[i] = total;
    total += lengths[i];
  }
  std::string all(static_cast<std::size_t>(total), '\0');
  MPI_Gatherv(text.data(), length, MPI_CHAR, all.data(), lengths.data(), starts.data(), MPI_CHAR, 0, comm);
  std::vector<nlohmann::json> values;
  for (std::size_t i = 0; i < lengths.size(); ++i)
    values.push_back(nlohmann::json::parse(all.begin() + starts[i], all.begin() + starts[i] + lengths[i]));
  return values;
}

}  // namespace pkb::judge
