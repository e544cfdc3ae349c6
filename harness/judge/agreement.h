// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace pkb::judge {

/// What one rank's worker did last.
struct Event {
  enum class Kind : std::uint8_t {
    answered,   ///< what it was told is done
    symmetric,  ///< it asks for symmetric memory
    barrier,    ///< it waits for the others
    failed,     ///< it will not go on
  };
  Kind kind = Kind::answered;
  std::uint64_t bytes = 0;  ///< symmetric
  bool operator==(const Event&) const = default;
};

/// How judges act as one while their workers run, without ever blocking in MPI: each tells rank 0 its events,
/// rank 0 decides when all have the same, or at once when one failed.
class Agreement {
 public:
  explicit Agreement(MPI_Comm comm);
  ~Agreement();
  Agreement(const Agreement&) = delete;
  Agreement& operator=(const Agreement&) = delete;

  void post(const Event& event);
  /// The event that all ranks had, or `failed` when they are to stop; nothing while it is open. Does not
  /// wait.
  std::optional<Event> decision();

  // On rank 0 only.
  /// The events of this round, by rank.
  std::span<const std::optional<Event>> events() const { return x_events; }
  /// Makes the decision `failed`.
  void stop() { x_stop = true; }
  /// Why the ranks cannot go on together, when their requests differ. One sentence.
  const std::string& disagreement() const { return x_disagreement; }

  /// Collective, while no worker runs: whether it is true on every rank.
  bool all(bool mine) const;
  /// Collective, after the last decision: receives what is still under way.
  void finish();

 private:
  void collect();
  std::optional<Event> decide();

  MPI_Comm x_comm = MPI_COMM_NULL;
  int x_rank = 0, x_ranks = 1;
  bool x_stop = false;
  std::vector<std::optional<Event>> x_events;
  std::string x_disagreement;
};

/// "ranks 0, 2" or "rank 1".
std::string list_ranks(std::span<const int> ranks);

}  // namespace pkb::judge
