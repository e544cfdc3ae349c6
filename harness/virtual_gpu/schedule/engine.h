// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "harness/virtual_gpu/exec/exec.h"
#include "harness/virtual_gpu/schedule/chip.h"
#include "harness/virtual_gpu/schedule/residency.h"
#include "harness/virtual_gpu/schedule/status_page.h"
#include "harness/virtual_gpu/schedule/stream.h"

namespace pkb::virtual_gpu {

/// The virtual device at work: streams run side by side, their kernels' blocks are resident on the SMs as far as
/// the chip has room, and a few host threads execute the resident blocks in turn.
///
/// Blocks that only poll stand aside until what they look at changes. The engine looks there with growing pauses
/// during which the threads sleep, since the processes of other ranks need the cores to bring about what is waited for.
class Engine {
 public:
  struct Options {
    Chip chip = find_chip("h200");
    int threads = 1;
    std::uint64_t seed = 0;    ///< 0: blocks in order and in turn; otherwise their order is drawn from it
    Status* status = nullptr;
    std::function<void(const Fault&)> on_fault;  ///< once, before anyone who waits is woken
  };
  Engine(Memory& memory, Options options);
  /// Abandons all work.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  const Chip& chip() const { return x_options.chip; }
  const StreamPtr& legacy_stream() const { return x_legacy; }
  StreamPtr create_stream(Stream::Kind kind);

  /// Appends `work`, which starts when the stream's earlier work is done and all of `after` is reached.
  /// Returns the place behind it. After a fault work is dropped.
  Point submit(const StreamPtr& stream, Work work, std::vector<Point> after = {});
  /// The place behind all that was submitted to `stream` and, for the legacy stream, what it waits for.
  Point end_of(const StreamPtr& stream);

  bool reached(const Point& point) const;
  bool idle(const StreamPtr& stream) const;
  bool all_idle() const;
  void wait(const Point& point);
  void wait_all();

  bool failed() const;
  /// Forgets a fault, so that work is accepted again.
  void recover();

  void set_seed(std::uint64_t seed);

  /// From now on work tells `checker` what it accesses. Null: no more.
  void set_checker(check::Checker* checker);
  /// A run: everything so far happens before it, on all ranks, and `opening` before what `stream` does; null: nothing is
  /// expected of the run's streams.
  void begin_run(const StreamPtr& stream, const check::ClockPtr& opening);
  /// The host has enqueued it all.
  void run_returned();
  /// What its end knows: work of its stream, and work that the host had waited for when it returned.
  check::ClockPtr end_of_run() const;
  /// What the host knows: the work that it has waited for.
  check::ClockPtr host_clock() const;
  Counters take_counters();
  /// Instructions of single threads executed so far, plus one for each look.
  std::uint64_t work_done();

 private:
  using Clock = std::chrono::steady_clock;
  struct Grid;
  struct Resident;
  using ResidentPtr = std::unique_ptr<Resident>;

  // engine.cpp: streams and their work. All of these are called with the mutex held.
  void start_threads();
  void promote();
  bool start_next(const StreamPtr& stream);
  void start(const StreamPtr& stream, std::size_t index);
  void complete(const Point& place);
  void learn(const check::ClockPtr& clock) const { x_host_clock = check::joined(x_host_clock, clock); }
  bool ready(const Stream::Item& item) const;
  bool run_device_work(std::unique_lock<std::mutex>& lock);
  void serve_host_calls();

  // blocks.cpp: the blocks of running grids.
  void execute();
  void dispatch();
  ResidentPtr next_block();
  void run_block(std::unique_lock<std::mutex>& lock, ResidentPtr resident);
  void keep(ResidentPtr resident, bool polls, bool memory_changed);
  void look_at_paused();
  Clock::time_point next_look() const;
  void count_triggered(Resident& resident, std::uint64_t blocks);
  void block_ended(Resident& resident);
  void finish_if_done(const std::shared_ptr<Grid>& grid);
  void progressed();
  void wait_for_work(std::unique_lock<std::mutex>& lock);
  void fail(const Fault& fault);
  void describe_waits();
  /// Waits on behalf of the program until `done`.
  template <class Done>
  void wait_until(std::unique_lock<std::mutex>& lock, Done done);
  void note_question() const { x_asked = Clock::now(); }

  Memory& x_memory;
  const Options x_options;
  StreamPtr x_legacy;

  mutable std::mutex x_mutex;
  std::condition_variable x_work_changed, x_work_ended, x_host_changed;
  std::vector<std::weak_ptr<Stream>> x_streams;
  std::vector<StreamPtr> x_busy;               ///< streams with items
  bool x_promotable = false;                   ///< a head may have become ready since the last look
  std::deque<StreamPtr> x_device_work;         ///< whose head is DeviceWork that may run now
  std::deque<StreamPtr> x_host_calls;
  std::deque<std::shared_ptr<Grid>> x_grids;   ///< in the order they started
  Residency x_residency;
  std::deque<ResidentPtr> x_ready;             ///< resident and not known to poll
  std::deque<ResidentPtr> x_due;               ///< polled, and what they look at may have changed
  std::vector<ResidentPtr> x_paused;           ///< polling
  Clock::time_point x_looked;                  ///< when the engine last looked for them
  Clock::duration x_look_cost{0};              ///< how long that took
  Clock::time_point x_progressed;              ///< when something last happened that may end the polling
  bool x_due_next = false;                     ///< ready and due blocks take turns
  int x_running = 0;                           ///< blocks and device work in the hands of threads
  int x_running_host_calls = 0;
  bool x_failed = false, x_stopping = false;
  StatusPage x_status;
  std::optional<Clock::time_point> x_polling_since;  ///< that nothing here does anything but poll
  int x_waiting_callers = 0;
  mutable Clock::time_point x_asked;           ///< when the program last asked whether work is done
  std::uint64_t x_seed = 0, x_launches = 0, x_work_done = 0;
  std::mt19937_64 x_random;
  Counters x_counters;
  check::Checker* x_checker = nullptr;
  StreamPtr x_run_stream;
  check::ClockPtr x_returned;  ///< what the host knew then; null before
  mutable check::ClockPtr x_host_clock = check::empty_clock();  ///< grows whenever the host asks or waits
  std::vector<std::thread> x_threads;
};

}  // namespace pkb::virtual_gpu
