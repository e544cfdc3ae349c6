// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "harness/virtual_gpu/exec/instruction.h"

namespace pkb::virtual_gpu {

class BlockState;

struct Free {
  void operator()(std::byte* pointer) const { std::free(pointer); }
};
using AlignedBytes = std::unique_ptr<std::byte, Free>;
/// Zeroed, on a boundary of 64.
AlignedBytes aligned_bytes(std::size_t bytes);

inline constexpr std::uint32_t kAllLanes = ~0u;

/// A function's registers in one activation. Fragments of a warp share a frame when they entered it together.
struct Frame {
  std::byte* registers = nullptr;
  std::uint64_t local_base = 0;       ///< where its local variables start in each thread's local memory
  std::uint32_t function = 0;         ///< index into Kernel::functions
  std::uint32_t depth = 0;            ///< calls below it
  const Instruction* call = nullptr;  ///< that made it; null for the kernel itself
  Frame* caller = nullptr;
  std::uint32_t lanes = 0;  ///< that have not returned from it
  std::uint64_t allocated = 0;  ///< bytes of local memory by alloca, behind the function's own
  AlignedBytes storage;
};

/// Threads of a warp that stand together at one instruction.
struct Fragment {
  enum class State : std::uint8_t {
    ready,
    barrier,     ///< until barrier `wanted` of the block completes
    rendezvous,  ///< until the live threads of mask `wanted` are at `next` too
    warpgroup,   ///< until the other warps of the warpgroup have come
  };
  const Instruction* next = nullptr;
  std::uint32_t lanes = 0;
  std::uint32_t turn = 0;  ///< how often it gave way to the others
  Frame* frame = nullptr;
  State state = State::ready;
  std::uint32_t wanted = 0;
};

/// 32 threads that execute together where they can. Its threads form fragments, of which the one least far in
/// the code runs (the code stands in thread-frontier order) and takes in others as it reaches them. A
/// fragment that keeps looping gives way to the others now and then, so threads that wait for each other make
/// progress.
class Warp {
 public:
  enum class Stop : std::uint8_t {
    budget,
    waiting,   ///< no fragment can go on by itself
    polling,   ///< repeats one state without having written anything
    finished,  ///< all threads have exited
    fault,
  };

  Warp(BlockState& block, std::uint32_t index, std::uint32_t live, std::byte* registers);
  Warp(Warp&&) noexcept = default;

  /// Executes about `budget` instructions.
  Stop run(std::uint32_t budget);

  /// Sees each instruction with the warp before it, and that it was executed.
  class Observer {
   public:
    virtual void before(Warp& warp, const Instruction& in) = 0;
    virtual void after(const Instruction& in) = 0;

   protected:
    ~Observer() = default;
  };
  /// Executes at most `budget` instructions, until the warp has come round its polling loop or does more than poll.
  void observe(std::uint64_t budget, Observer& observer);

  // For handlers.

  /// The slot at a register offset, one element a lane.
  template <class T>
  T* at(std::uint32_t offset) {
    return reinterpret_cast<T*>(x_registers + offset);
  }
  std::uint32_t& predicate(std::uint32_t offset) { return *at<std::uint32_t>(offset); }
  /// The lanes that execute the present instruction.
  std::uint32_t mask() const { return x_mask; }
  int first_lane() const { return std::countr_zero(x_mask); }
  /// Runs the rest of an instruction in some of its lanes.
  template <class Body>
  void in_lanes(std::uint32_t lanes, Body body) {
    const std::uint32_t all = x_mask;
    x_mask = lanes;
    body();
    x_mask = all;
  }
  /// The condition code CC.CF, one bit a lane.
  std::uint32_t& carry() { return x_carry; }
  BlockState& block() { return *x_block; }
  const BlockState& block() const { return *x_block; }
  std::uint32_t index() const { return x_index; }
  class CopyQueue& copies();
  std::uint32_t live() const { return x_live; }
  Frame& frame() { return *x_frame; }
  /// Memory or another thread's future may have changed: what happens next is not mere polling.
  void progress() {
    x_quiet = 0;
    ++x_progress;
  }
  /// Makes long waits by nanosleep show sooner as polling.
  void idle() { x_quiet += 8; }

  /// All executing lanes go to `in.target`.
  void jump(const Instruction& in) {
    x_next = &in + in.target;
    if (in.target <= 0) loop();
  }
  /// `lanes` of the executing lanes go to `in.target`, the others go on.
  void diverge(const Instruction& in, std::uint32_t lanes);
  /// `lanes` of the executing lanes go to `to`, the others go on as they would.
  void split(const Instruction* to, std::uint32_t lanes, Frame* frame);
  /// Counts a turn of a loop if `backward`.
  void turn_back(bool backward) {
    if (backward) loop();
  }
  /// The executing lanes end at `in`.
  void exit(const Instruction& in);
  /// All executing lanes continue at `to` in `frame`.
  void enter(Frame* frame, const Instruction* to);
  Frame* push_frame(std::uint32_t function, const Instruction* call, std::uint32_t lanes);
  void pop_lanes(Frame* frame, std::uint32_t lanes);
  /// True when all live threads of `members` execute `in` now. Otherwise the present ones wait for the others
  /// and the handler has to return at once.
  bool gathered(const Instruction& in, std::uint32_t members) {
    if ((members & x_live & ~x_mask) == 0) return true;
    park(in, Fragment::State::rendezvous, members);
    return false;
  }
  /// The executing lanes wait: at `in` for a rendezvous, behind it for a barrier.
  void park(const Instruction& in, Fragment::State state, std::uint32_t wanted);
  /// Ends the launch. `lane` is the one to blame.
  void fault(const Instruction& in, int lane, Fault::Kind kind, std::uint64_t address, std::string text);

  bool faulted() const { return x_faulted; }
  /// Ends the turn at `in`, after a fault that another instruction is to blame for.
  void stop(const Instruction& in) {
    x_end = &in + 1;
    x_next = &in;
  }
  /// Runs `body`, whose faults are those of earlier instructions: it leaves the present one alone.
  template <class Body>
  void aside(Body body) {
    const Instruction *const end = x_end, *const next = x_next;
    body();
    x_end = end;
    x_next = next;
  }

  /// Local memory of a thread at an offset, grown as needed; null beyond the limit of a thread.
  std::byte* local(int lane, std::uint64_t offset, std::uint64_t bytes);

  // For the block.

  /// Lets the fragments that wait at barrier `id` go on; `each` sees every one of them.
  template <class Each>
  void release(std::uint32_t id, Each each) {
    for (Fragment& fragment : x_fragments) {
      if (fragment.state != Fragment::State::barrier || fragment.wanted != id) continue;
      each(fragment);
      fragment.state = Fragment::State::ready;
    }
    if (x_mask != 0 && x_state == Fragment::State::barrier && x_wanted == id) {
      each(current());
      x_state = Fragment::State::ready;
    }
    x_attention = true;
  }
  /// Lanes that have arrived at the cluster's barrier, and those of them that may pass it.
  struct ClusterBarrier {
    std::uint32_t arrived = 0, released = 0;
  };
  ClusterBarrier& cluster_barrier() { return x_cluster_barrier; }
  /// Lets the warp go on, which waits as a whole for its warpgroup.
  void join() {
    for (Fragment& fragment : x_fragments) fragment.state = Fragment::State::ready;
    x_state = Fragment::State::ready;
    x_attention = true;
  }
  /// Grows with every step that may change memory.
  std::uint64_t progress_count() const { return x_progress; }
  /// Whether its threads wait for each other, so that nobody else can make it go on, or for threads that have gone
  /// past where they wait and end now.
  bool waits_for_itself() const;
  /// All fragments, the running one included.
  std::vector<Fragment> fragments() const;
  std::uint64_t warp_instructions() const { return x_warp_instructions; }
  std::uint64_t lane_instructions() const { return x_lane_instructions; }

 private:
  /// What a polling warp comes back to.
  struct Snapshot {
    std::vector<Fragment> fragments;
    std::uint32_t spins = 0;
    std::uint64_t progress = 0;  ///< progress_count() then
    struct Activation {
      const Frame* frame;
      const Instruction* call;
      std::vector<std::byte> registers;
    };
    std::vector<Activation> frames;  ///< those that the fragments stand in and all that called them
    std::vector<std::byte> local;    ///< memory of the threads
    std::size_t differs_in = 0, differs_at = 0;  ///< where the last comparison failed: loop counters show there again
    std::uint64_t next = 0;            ///< value of x_quiet at which the next snapshot is due
  };

  static constexpr std::uint32_t kPatience = 4096;
  static constexpr std::uint64_t kSuspicion = 32;  ///< quiet loops before a look whether the warp is polling

  void loop() {
    // Others that wait get their turn sooner when this one writes nothing, as when it spins on a lock.
    if (!x_fragments.empty() && (x_spins += x_quiet == 0 ? 1 : 16) >= kPatience) give_way();
    if (++x_quiet >= kSuspicion) x_check = x_attention = true;
  }
  void give_way();
  bool repeats();
  bool same(Snapshot& snapshot) const;
  std::vector<const Frame*> active_frames() const;
  void remember();
  bool select();
  bool goes_past(const Fragment& fragment) const;
  Fragment current() const { return {x_next, x_mask, x_turn, x_frame, x_state, x_wanted}; }

  std::byte* x_registers;
  const Instruction* x_end = nullptr;    ///< where the straight run stops
  const Instruction* x_next = nullptr;   ///< where it goes on then
  const Instruction* x_limit = nullptr;  ///< the least position of another fragment ahead
  std::uint32_t x_mask = 0;
  bool x_attention = false;  ///< something beside one fragment's straight run: see run()
  bool x_check = false;      ///< a backward branch asks whether the warp is polling
  bool x_faulted = false;
  bool x_ends_wanted = false;  ///< threads of x_past are about to end while others wait for them
  std::uint64_t x_quiet = 0;  ///< backward branches since the last progress
  std::uint64_t x_progress = 0;
  BlockState* x_block;

  std::uint32_t x_index;
  std::uint32_t x_live;
  std::uint32_t x_past = 0;  ///< lanes that have gone past where others waited for them
  std::uint32_t x_carry = 0;
  ClusterBarrier x_cluster_barrier;
  std::uint32_t x_turn = 0;
  std::uint32_t x_spins = 0;
  Fragment::State x_state = Fragment::State::ready;
  std::uint32_t x_wanted = 0;
  Frame* x_frame;
  std::vector<Fragment> x_fragments;  ///< the others
  std::vector<std::unique_ptr<Frame>> x_frames;
  std::vector<std::unique_ptr<Frame>> x_spare_frames;
  std::unique_ptr<Snapshot> x_snapshot;
  std::vector<std::byte> x_local;
  std::uint64_t x_local_stride = 0;
  std::uint64_t x_warp_instructions = 0, x_lane_instructions = 0;
};

}  // namespace pkb::virtual_gpu
