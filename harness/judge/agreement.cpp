// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/agreement.h"

#include <fmt/format.h>

#include <algorithm>

namespace pkb::judge {
namespace {

constexpr int kEventTag = 1, kDecisionTag = 2;

std::string describe(const Event& event) {
  switch (event.kind) {
    case Event::Kind::answered:
      return "finished setup";
    case Event::Kind::symmetric:
      return fmt::format("called symmetric({})", event.bytes);
    case Event::Kind::barrier:
      return "called barrier()";
    case Event::Kind::failed:
      return "failed";
  }
  return {};
}

}  // namespace

std::string list_ranks(std::span<const int> ranks) {
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", fmt::join(ranks, ", "));
}

Agreement::Agreement(MPI_Comm comm) {
  MPI_Comm_dup(comm, &x_comm);
  MPI_Comm_rank(x_comm, &x_rank);
  MPI_Comm_size(x_comm, &x_ranks);
  x_events.resize(static_cast<std::size_t>(x_ranks));
}

Agreement::~Agreement() { MPI_Comm_free(&x_comm); }

void Agreement::post(const Event& event) {
  if (x_rank == 0)
    x_events[0] = event;
  else  // small enough to be sent without waiting for its receiver
    MPI_Send(&event, sizeof event, MPI_BYTE, 0, kEventTag, x_comm);
}

void Agreement::collect() {
  for (;;) {
    int pending = 0;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, kEventTag, x_comm, &pending, &status);
    if (pending == 0) return;
    Event event;
    MPI_Recv(&event, sizeof event, MPI_BYTE, status.MPI_SOURCE, kEventTag, x_comm, MPI_STATUS_IGNORE);
    x_events[static_cast<std::size_t>(status.MPI_SOURCE)] = event;
  }
}

std::optional<Event> Agreement::decide() {
  constexpr Event kStop{.kind = Event::Kind::failed};
  if (x_stop || std::ranges::find(x_events, std::optional(kStop)) != x_events.end()) return kStop;
  if (!std::ranges::all_of(x_events, &std::optional<Event>::has_value)) return std::nullopt;
  const auto differs = std::ranges::find_if(
      x_events, [&](const std::optional<Event>& each) { return each != x_events.front(); });
  if (differs == x_events.end()) return x_events.front();
  x_disagreement =
      fmt::format("every rank must call symmetric() and barrier() alike: rank 0 {}, but rank {} {}",
                  describe(*x_events.front()), differs - x_events.begin(), describe(**differs));
  return kStop;
}

std::optional<Event> Agreement::decision() {
  if (x_rank == 0) {
    collect();
    const std::optional<Event> decided = decide();
    if (!decided) return std::nullopt;
    for (int rank = 1; rank < x_ranks; ++rank)
      MPI_Send(&*decided, sizeof *decided, MPI_BYTE, rank, kDecisionTag, x_comm);
    // The events of a stopped round stay for the report.
    if (decided->kind != Event::Kind::failed) std::ranges::fill(x_events, std::nullopt);
    return decided;
  }
  int pending = 0;
  MPI_Iprobe(0, kDecisionTag, x_comm, &pending, MPI_STATUS_IGNORE);
  if (pending == 0) return std::nullopt;
  Event decided;
  MPI_Recv(&decided, sizeof decided, MPI_BYTE, 0, kDecisionTag, x_comm, MPI_STATUS_IGNORE);
  return decided;
}

bool Agreement::all(bool mine) const {
  int everywhere = mine ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &everywhere, 1, MPI_INT, MPI_MIN, x_comm);
  return everywhere != 0;
}

void Agreement::finish() {
  MPI_Barrier(x_comm);
  if (x_rank == 0) collect();
}

}  // namespace pkb::judge
