// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pkb/device/order.cuh>
#include <pkb/device/peers.cuh>
#include <pkb/device/team.cuh>

namespace pkb {

/// Signals between ranks: `slots` numbered places to meet, each with one counter per source rank, so that a
/// fast rank's second signal cannot stand for a slow one's first. Counters only grow and nothing is ever
/// reset; what they are compared with lives beside them, so it survives from run to run, and a captured graph
/// may be replayed. A counter does not tell teams of one rank apart: give each a slot of its own.
///
/// Order: signal, signal_all, barrier and finish release; wait, wait_all, barrier and finish acquire; both at
/// system scope and for the whole team. What the team did before, or what had been made visible to it, is
/// visible to the team on the other side. Asynchronous stores that the team has started have arrived before
/// it signals.
///
/// Progress: whoever waits holds its SM until its peers have come. What waits must be resident together with
/// what it waits for, or start after it. So a grid whose blocks call `barrier` must be resident at once;
/// `finish` asks nothing.
class Signals {
 public:
  Signals() = default;
  /// Collective, in `setup` only.
  Signals(Context& ctx, int slots) : x_slots(slots) {
    const int counters = (slots + 1) * ctx.world_size();  // one more slot for `finish`
    x_words = peers_of(
        ctx, static_cast<unsigned*>(ctx.symmetric((kCounters + counters + slots) * sizeof(unsigned))));
  }

  __host__ __device__ int rank() const { return x_words.rank; }
  __host__ __device__ int ranks() const { return x_words.ranks; }

  /// The number of this run, from 1: one more than there were runs that called `finish`. A slot that is
  /// signalled n times in every run has had n * epoch() signals in the end.
  __device__ unsigned epoch() const { return x_words.here()[kEpoch] + 1; }

  /// One signal to rank `to`.
  __device__ void signal(Team team, int slot, int to) const {
    settle(team);
    if (team.thread == 0) order::add_release(counter(to, slot, rank()));
  }
  /// One signal to every rank, this one included.
  __device__ void signal_all(Team team, int slot) const {
    settle(team);
    for (int i = team.thread; i < ranks(); i += team.threads)
      order::add_release(counter((rank() + 1 + i) % ranks(), slot, rank()));
  }
  /// Returns when rank `from` has signalled this rank `times` times since setup. Any number of teams may wait
  /// for the same signal.
  __device__ void wait(Team team, int slot, int from, unsigned times) const {
    if (team.thread == 0) order::wait_until(counter(rank(), slot, from), times);
    team.sync();
  }
  /// The same for the signals of every rank.
  __device__ void wait_all(Team team, int slot, unsigned times) const {
    for (int r = team.thread; r < ranks(); r += team.threads)
      order::wait_until(counter(rank(), slot, r), times);
    team.sync();
  }

  /// The teams that use this slot, one on each rank, meet; as often as they like, but the slot is for nothing
  /// else. Give each block of a grid a slot of its own, blockIdx.x for example.
  __device__ void barrier(Team team, int slot) const {
    unsigned* passed = x_words.here() + kCounters + (x_slots + 1) * ranks() + slot;  // this team's alone
    const unsigned times = *passed + 1;
    signal_all(team, slot);
    wait_all(team, slot, times);
    if (team.thread == 0) *passed = times;
    team.sync();  // the next barrier reads it
  }

  /// The end of a run: the last thing that all blocks of its last kernel do. The last of them tells every
  /// rank that this one has stored its part, waits until all have, and counts the run; the others leave at
  /// once.
  __device__ void finish() const {
    const Team block = whole_block();
    settle(block);
    const unsigned last = gridDim.x * gridDim.y * gridDim.z - 1;
    if (!__syncthreads_or(block.thread == 0 && order::count_up_to(x_words.here() + kBlocks, last) == last))
      return;
    const unsigned run = epoch();
    signal_all(block, x_slots);
    wait_all(block, x_slots, run);
    if (block.thread == 0) x_words.here()[kEpoch] = run;
  }

 private:
  enum : int {
    kEpoch,
    kBlocks,
    kCounters
  };  // the first words; then the counters, then barriers passed by each slot

  __device__ unsigned* counter(int at, int slot, int source) const {
    return x_words[at] + kCounters + slot * ranks() + source;
  }
  __device__ static void settle(Team team) {
    order::wait_for_async_stores();
    team.sync();
  }

  Peers<unsigned> x_words;
  int x_slots = 0;
};

}  // namespace pkb
