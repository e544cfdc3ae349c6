// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "harness/virtual_gpu/check/checker.h"
#include "harness/virtual_gpu/check/shared_shadow.h"
#include "harness/virtual_gpu/check/view.h"

namespace pkb::virtual_gpu::check {

enum class Order : std::uint8_t { weak, relaxed, acquire, release, acq_rel };
constexpr bool acquires(Order order) { return order == Order::acquire || order == Order::acq_rel; }
constexpr bool releases(Order order) { return order == Order::release || order == Order::acq_rel; }

/// A memory instruction of a warp.
struct Access {
  enum class Kind : std::uint8_t {
    read,
    peek,  ///< a read of something that need not be initialised, as when a tile reaches beyond its matrix
    write,
    update,  ///< an atomic read and write
  };
  Kind kind = Kind::read;
  Order order = Order::weak;
  Scope scope = Scope::cta;
  std::uint32_t warp = 0;
  std::uint32_t place = 0;  ///< index into Kernel::places
  std::uint32_t bytes = 0;  ///< of each lane
  /// Whose access it is: 0, the lanes' own; else that of an asynchronous copy which they issue, and a number
  /// for it.
  std::uint32_t agent = 0, agent_lane = 0;

  bool aliased = false;  ///< by another address than the memory's own, a multicast one

  bool reads() const { return kind == Kind::read || kind == Kind::peek; }
  bool is_strong() const { return order != Order::weak; }
};

/// Bytes next to each other that one instruction accesses: lanes from `lane` on have 2^shift of them each, or
/// one lane has all, or reads all as others do.
struct Run {
  static constexpr std::uint32_t kOneLane = 63;
  std::uint64_t offset = 0, bytes = 0;
  std::uint32_t lane = 0, shift = kOneLane;
  bool shared = false;  ///< by several lanes
};

/// What readers of a strong write learn about order, on its way to them with the value.
class Announcement {
 public:
  Announcement() = default;  ///< nothing
  Announcement(Checker& checker, const Shadow& shadow, std::uint64_t offset, Ref record)
      : x_checker(&checker),
        x_owner(shadow.owner()),
        x_offset(offset),
        x_sector(shadow.sectors() + offset / kSector),
        x_record(record) {}
  /// The value becomes visible by `write()`.
  template <class Write>
  void with(Write write) const {
    if (x_checker == nullptr) return write();
    const Ledger::Lock lock(x_checker->ledger(), x_owner, x_offset);
    write();
    x_checker->tell(*x_sector, x_offset, x_record);
  }

 private:
  Checker* x_checker = nullptr;
  int x_owner = 0;
  std::uint64_t x_offset = 0;
  Sector* x_sector = nullptr;
  Ref x_record = 0;
};

/// The checks of one block. Used by one host thread at a time.
class BlockCheck {
 public:
  BlockCheck(std::shared_ptr<Grid> grid, std::uint64_t linear_index, std::uint32_t threads,
             std::uint64_t shared_bytes);

  /// Lanes of `mask` access `shadow` at their offsets.
  void global(const Access& access, Shadow& shadow, std::uint32_t mask, const std::uint64_t* offsets);
  void global(const Access& access, Shadow& shadow, const Run& run);
  /// The same for shared memory, of this block or of another one in its cluster.
  void shared(const Access& access, BlockCheck& owner, std::uint32_t mask, const std::uint64_t* offsets);
  void shared(const Access& access, BlockCheck& owner, const Run& run);

  /// Brackets a strong access by one lane, so that its value and what it says about order belong together.
  class Strong {
   public:
    /// `shadow` null: shared memory of `owner`.
    Strong(BlockCheck& check, const Access& access, Shadow* shadow, BlockCheck& owner, std::uint64_t offset,
           int lane);
    ~Strong();
    Strong(const Strong&) = delete;
    Strong& operator=(const Strong&) = delete;
    /// An update that has left memory as it was, such as a failed compare and swap.
    void only_read() { x_access.kind = Access::Kind::read; }
    /// A write that becomes visible later, and with it what is returned here.
    Announcement announce_later();

   private:
    void finish(Announcement* later);

    BlockCheck& x_check;
    Access x_access;
    Shadow* x_shadow;
    BlockCheck& x_owner;
    std::uint64_t x_offset;
    int x_lane;
    bool x_finished = false;
    std::optional<Ledger::Lock> x_lock;
  };

  void fence(std::uint32_t warp, std::uint32_t lanes, Scope scope, std::uint32_t place);
  void warp_sync(std::uint32_t warp, std::uint32_t lanes);
  /// The two halves of a block barrier.
  void arrive(std::uint32_t barrier, std::uint32_t warp, std::uint32_t lanes);
  void leave(std::uint32_t barrier, std::uint32_t warp, std::uint32_t lanes);
  /// All have left it.
  void reset(std::uint32_t barrier);
  void exit(std::uint32_t warp, std::uint32_t lanes);
  /// The dependent launch's wait: everything before the launch is known from now on.
  void join(std::uint32_t warp, std::uint32_t lanes, const ClockPtr& clock);
  /// What `lanes` know and have done so far. They go on later than that.
  ClockPtr publish(std::uint32_t warp, std::uint32_t lanes);

  // Asynchronous copies. Their accesses are checked when they are issued, as those of an agent that starts
  // with what the issuing threads know and of whose end others learn later.

  /// The moment of a copy that is being issued now.
  std::uint32_t moment() const { return x_now; }
  void issued() { tick(); }
  /// `lanes` have waited for the copies of an agent up to `time`.
  void waited(std::uint32_t warp, std::uint32_t lanes, std::uint32_t agent, std::uint32_t agent_lane,
              std::uint32_t time);
  /// Generic accesses before it are visible to copies and matrix instructions behind it.
  void proxy_fence(std::uint32_t warp, std::uint32_t lanes);
  /// Accesses by multicast addresses before it and by others behind it are in order.
  void alias_fence(std::uint32_t warp, std::uint32_t lanes);
  /// Reports what an asynchronous read of shared memory meets that no proxy fence covers.
  void check_proxy(const Access& access, BlockCheck& owner, int lane, std::uint64_t offset,
                   std::uint64_t bytes);
  /// The agent of the copies that complete at the mbarrier at `offset`.
  std::uint32_t agent_of_mbarrier(std::uint64_t offset);

  // The mbarrier of this block at `offset`.

  void mbarrier_init(std::uint64_t offset) { x_mbarriers[offset] = {}; }
  void mbarrier_arrive(std::uint64_t offset, BlockCheck& from, std::uint32_t warp, int lane);
  void mbarrier_copied(std::uint64_t offset, BlockCheck& from, std::uint32_t agent, std::uint32_t agent_lane,
                       std::uint32_t time);
  void mbarrier_completed(std::uint64_t offset);
  void mbarrier_passed(std::uint64_t offset, BlockCheck& by, std::uint32_t warp, int lane);
  /// All threads have exited.
  void finish();

  Checker& checker() { return x_grid->checker(); }

 private:
  struct Warp {
    ViewPtr common;
    std::unique_ptr<std::array<ViewPtr, 32>> lanes;  ///< while they differ
    std::uint32_t live = 0;
    std::array<RecordPtr, 32> acquired;  ///< by each lane, the last: pollers read the same again and again
  };
  struct Barrier {
    std::optional<View> joined;
    ViewPtr shared;                         ///< `joined`, once the barrier is complete
    std::uint32_t completed = 0, left = 0;  ///< when that was, and the threads that have left it since
  };
  /// Why an edge that someone may have meant does not exist.
  struct Missed {
    enum class Why : std::uint8_t { no_release, release_scope, acquire_scope, fence_scope };
    Why why = Why::no_release;
    std::uint32_t block = 0;  ///< of the writer
    Scope scope = Scope::cta;
    PlaceId write = 0, read = 0;
    bool operator==(const Missed&) const = default;
  };

  void tick();
  const ViewPtr& view(std::uint32_t warp, int lane) const {
    const Warp& its = x_warps[warp];
    return its.lanes ? (*its.lanes)[static_cast<std::size_t>(lane)] : its.common;
  }
  /// Joins what `lanes` know.
  void join_views(View& into, std::uint32_t warp, std::uint32_t lanes) const;
  void set_view(std::uint32_t warp, std::uint32_t lanes, ViewPtr view);
  /// Calls `change` on each view that `lanes` have and gives them the result.
  template <class Change>
  void change_views(std::uint32_t warp, std::uint32_t lanes, Change change);
  bool is_whole(std::uint32_t warp, std::uint32_t lanes) const;
  void note_own(View& view, std::uint32_t warp, std::uint32_t lanes) const;
  ClockPtr clock_of(const View& view, std::uint32_t warp, std::uint32_t lanes) const;
  ClockPtr clock_of(const View& view) const;
  ClockPtr clock_of_view(std::uint32_t warp, int lane);

  /// An access to some bytes of one sector, as it is checked.
  struct Touch {
    const Access& access;
    const View& view;
    const std::string& memory;
    bool is_shared;
    const Run& run;
    std::uint64_t at = 0;  ///< the sector
    Entry mine, me;        ///< what is noted; the threads that do it, which issue it if it is a copy
  };
  /// Whether `view` knows all that the warp of `stamp` did then.
  bool knows_warp(const View& view, Stamp stamp) {
    if (block_of(stamp.thread()) == x_block) return stamp.time() <= view.known[agent_of(stamp.thread())];
    if (stamp.moment() == x_known_moment && &view == x_known_by) return true;
    if (!view.outside->knows_warp(stamp)) return false;
    x_known_moment = stamp.moment();
    x_known_by = &view;
    return true;
  }
  Bytes unordered(const Touch& touch, const Entry& other, Bytes bytes);
  /// Lanes that do the same may have different pasts.
  bool lanes_differ(const Access& access) const {
    return x_warps[access.warp].lanes != nullptr || access.aliased || !x_aliased.empty();
  }
  template <class Quick, class Each>
  void for_sectors(Touch& touch, Quick quick, Each each);
  void touch_shared(const Touch& touch, BlockCheck& owner, std::uint64_t sector, std::uint32_t known_to_all);
  void touch_locked(const Access& access, Shadow& shadow, const Run& run);
  void touch_sector(const Touch& touch, Sector& sector);
  void check_alias(const Access& access, const Shadow& shadow, Thread me, std::uint64_t offset);
  void check_written(const Touch& touch, Bytes written);
  template <class Lists, class Overtake>
  void meet_writes(Lists& lists, Entry& head, const Touch& touch, Overtake overtake);
  void meet_reads(const Touch& touch, BlockCheck& owner, std::uint64_t sector);
  void meet_reads(const Touch& touch, SharedShadow& shadow, Entry& reads);
  template <class Lists>
  void note(Lists& lists, Entry& head, const Touch& touch, const Entry& entry);
  void conflict(const Touch& touch, const Entry& other, Bytes bytes);

  void acquire(const Access& access, const RecordPtr& record, int lane, PlaceId place);
  /// What a strong write says to later readers of its word; nothing when it leaves that as it is.
  std::optional<Record> release(const Access& access, const RecordPtr& before, int lane, PlaceId place);
  /// Joins what `record` says to readers within `scope`; false when a release did not reach.
  void take(View& view, const Record& record, Scope scope, Missed::Why narrow, PlaceId place);
  void miss(const Missed& missed);

  void conflict(const std::string& memory, std::uint64_t offset, bool shared, Stamp mine, PlaceId place,
                Stamp other, PlaceId other_place, const View& view);
  std::string cause(Stamp mine, Stamp other, bool shared, const View& view) const;
  void check_input(const Access& access, const Shadow& shadow, const Run& run);
  void uninitialised(const std::string& memory, std::uint64_t offset, Thread thread, std::uint32_t bytes,
                     PlaceId place);

  std::shared_ptr<Grid> x_grid;
  Ledger& x_ledger;
  std::uint32_t x_block, x_now = 1;
  /// What warps did before is known to all threads of the block: since then all have left one barrier.
  std::uint32_t x_known_to_all = 0;
  std::vector<Warp> x_warps;
  std::vector<Barrier> x_barriers;
  struct Mbarrier {
    View pending;
    ViewPtr completed;  ///< of the last phase that is
    std::uint32_t agent = 0;
  };
  View x_exited, x_proxied;
  std::unordered_map<std::uint64_t, Mbarrier> x_mbarriers;  ///< by offset
  std::uint32_t x_agents = kWarps;                          ///< given to mbarriers
  SharedShadow x_shared;
  std::unordered_map<std::uint64_t, RecordPtr> x_shared_records;  ///< by offset
  std::vector<Missed> x_missed;
  /// What threads have changed by multicast addresses and no alias fence of theirs stands behind, by granule.
  struct Aliased {
    Thread thread = 0;
    PlaceId place = 0;
  };
  std::unordered_map<std::uintptr_t, Aliased> x_aliased;
  ViewPtr x_clock_view;  ///< whose clock `x_clock` is
  ClockPtr x_clock;
  Ref x_polled_list = 0;
  std::size_t x_polled_entry = 0;
  std::uint64_t x_known_moment = 0;  ///< of another block, which the view below knows entirely
  const View* x_known_by = nullptr;
};

template <class Change>
void BlockCheck::change_views(std::uint32_t warp, std::uint32_t lanes, Change change) {
  while (lanes != 0) {
    const ViewPtr old = view(warp, std::countr_zero(lanes));
    std::uint32_t same = 0;
    for (std::uint32_t left = lanes; left != 0; left &= left - 1)
      if (const int lane = std::countr_zero(left); view(warp, lane) == old) same |= 1u << lane;
    auto changed = std::make_shared<View>(*old);
    change(*changed, same);
    set_view(warp, same, std::move(changed));
    lanes &= ~same;
  }
}

}  // namespace pkb::virtual_gpu::check
