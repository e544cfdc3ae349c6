// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "harness/judge/session.h"
#include "harness/judge/shared_line.h"
#include "harness/judge/track.h"

namespace pkb::judge {

/// A timed iteration, of the slowest rank. Work that waits on the host for its own results cannot be enqueued before it
/// starts: events around it would leave out what the host does at its end.
struct SlowestLap {
  double device_ms = 0;   ///< by the events of the process that ran it; `outside_ms` where the host is part of it
  double host_ms = 0;     ///< enqueueing it
  double outside_ms = 0;  ///< from the start to the end by the judges' clock; infinite when no end was seen
};

/// Runs one iteration at a time on all ranks, on the inputs of a pair. Collective; nothing when the evaluation has to
/// stop.
using Contestant = std::function<std::optional<SlowestLap>(std::uint32_t iteration, int pair)>;

/// Work of the judges themselves, on `context`'s stream.
class JudgesWork {
 public:
  /// Collective.
  JudgesWork(const Track& track, ref::Context& context, DescriptorExchange& exchange, MPI_Comm comm, int rank,
             int ranks);
  std::optional<SlowestLap> run(std::uint32_t iteration, const std::function<void()>& work);

 private:
  const Track& x_track;
  ref::Context& x_context;
  MPI_Comm x_comm;
  SharedLine x_line;
  timing::Stopwatch x_stopwatch;
  timing::Referee x_referee;
};

/// One timed run of a worker.
std::optional<SlowestLap> time_worker(Session& session, const Track& track, std::uint32_t iteration, int trial,
                                      MPI_Comm comm);

/// What is timed, in turns.
struct Contest {
  MPI_Comm comm;
  std::uint64_t seed;                       ///< of the order within pairs and of the bootstrap
  std::function<void(int pair)> prepare;    ///< fresh inputs for both of a pair; collective
  Contestant baseline, candidate, nothing;  ///< `candidate` may be empty; `nothing` shows the floor of the method
  std::function<void(int pair)> after_candidate;  ///< while its outputs are there; collective
  unsigned processes_per_gpu = 2;                 ///< of ours
};

/// Collective: warms up until times are steady, then takes pairs until the speedup (or, without a candidate, the
/// baseline's median) is known within 3 % or a limit is reached. The "timing" member of a result on every rank; nothing
/// when the evaluation has to stop.
std::optional<nlohmann::json> hold(const Contest& contest);

/// Why a worker's events cannot be believed beside the judges' clock; empty when they can. `timing` as `hold` made it.
std::string doubt_about_events(const nlohmann::json& timing);

}  // namespace pkb::judge
