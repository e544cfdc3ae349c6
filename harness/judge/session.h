// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "harness/device/memory.h"
#include "harness/judge/agreement.h"
#include "harness/judge/descriptor_exchange.h"
#include "harness/judge/shared_line.h"
#include "harness/judge/watchdog.h"
#include "harness/judge/worker_process.h"
#include "harness/store/verdict.h"
#include "harness/timing/referee.h"
#include "harness/worker/protocol.h"

namespace pkb::judge {

/// This rank's worker through all trials, in step with those of the other ranks.
///
/// Every function is collective and false when the evaluation has to stop, on all ranks alike: the workers
/// are dead then, and `diagnoses()` says why on the rank that knows.
class Session {
 public:
  struct Options {
    int rank = 0, ranks = 1;
    bool has_status = false;  ///< virtual GPUs: they show whether they make progress
    bool checks = false;      ///< virtual GPUs: for races and what else is wrong with correct bytes
    bool timed = false;       ///< real GPUs: there will be `time`
    std::chrono::milliseconds setup_deadline{60'000}, run_deadline{30'000};
  };
  Session(const Options& options, WorkerProcess worker, Agreement& agreement, DescriptorExchange& exchange,
          device::Memory& memory);

  bool start(const worker::Hello& hello);
  /// Gives every worker the tensor segment of every rank.
  bool share(const device::Segment& mine);
  /// From here on the worker runs the candidate's code: what it says of itself is no longer believed.
  bool load(const worker::Load& load);
  bool setup(const worker::Setup& setup);
  /// `counters` of the run are in `counters()`.
  bool run(const worker::Run& run, int trial);
  /// A timed run; the laps are in `lap()` and `times()`.
  bool time(const worker::Time& time, int trial);
  bool teardown();
  /// Not collective: the worker ends. Its output is complete afterwards.
  void quit();

  const std::vector<Diagnosis>& diagnoses() const { return x_diagnoses; }
  const worker::Counters& counters() const { return x_done.counters; }
  /// What the worker said about the last timed run, and what the judge's clock did.
  const std::optional<timing::Lap>& lap() const { return x_done.lap; }
  const timing::Referee::Times& times() const { return x_times; }
  std::string output() { return x_worker.output(); }

 private:
  struct Phase {
    const char* name;  ///< "run"
    std::chrono::milliseconds deadline;
    int trial = -1;
    bool may_ask = false;  ///< symmetric() and barrier()
    bool trusted = false;  ///< no code of the candidate has run yet
  };
  /// Whose turn it is to speak.
  enum class Turn : std::uint8_t { worker, judge };
  bool perform(const Phase& phase, const worker::ToWorker& message, std::span<const int> descriptors = {});
  /// What the worker did, if anything.
  std::optional<Event> look(const Phase& phase);
  Event hear(const Phase& phase);
  /// The worker is ending or has ended, though nobody told it to.
  Event report_end(const Phase& phase);
  bool start_virtual(const worker::Hello& hello, const Phase& phase);
  bool start_timed(const worker::Hello& hello, const Phase& phase);
  void record(Verdict verdict, std::string text, const Phase& phase, int rank);
  void record(const worker::Trouble& trouble, const Phase& phase);
  /// Answers a request that all ranks have made; false, and says so to the others, when that is impossible.
  bool grant(const Event& request, const Phase& phase);
  bool fail_closed(const Phase& phase);
  /// Sends the order with this phase's ticket.
  bool order(const worker::ToWorker& message, std::span<const int> descriptors = {});
  /// Looks after this rank's worker; rank 0 also after all, and ends the phase when nothing can come of it any more.
  void watch(const Phase& phase, std::chrono::steady_clock::time_point start);
  void stop_all(Verdict verdict, const Phase& phase, const std::string& why);
  std::vector<Standing> standings() const;

  Options x_options;
  WorkerProcess x_worker;
  Agreement& x_agreement;
  DescriptorExchange& x_exchange;
  device::Memory& x_memory;
  StatusPages x_status;
  DeadlockWatch x_deadlock;
  std::chrono::steady_clock::time_point x_last_sample;
  std::chrono::nanoseconds x_kept_before{0};  ///< from the processor, when the phase began
  std::uint64_t x_ticket = 0;  ///< of the order that the worker has to answer
  Turn x_turn = Turn::judge;
  std::vector<std::uint32_t> x_launches_before;  ///< by rank, when the phase began
  worker::Done x_done;
  SharedLine x_line;
  std::optional<timing::Referee> x_referee;
  timing::Referee::Times x_times;
  std::vector<device::Segment> x_symmetric;
  std::vector<Diagnosis> x_diagnoses;
};

}  // namespace pkb::judge
