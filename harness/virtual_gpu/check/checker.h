// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "harness/virtual_gpu/check/record.h"
#include "harness/virtual_gpu/check/shadow.h"
#include "harness/virtual_gpu/exec/exec.h"

namespace pkb::virtual_gpu::check {

class Checker;

/// A launch under observation, or a copy, which is a launch of one thread.
class Grid {
 public:
  Grid(Checker& checker, const Launch& launch, std::uint32_t first, ClockPtr start);

  Checker& checker() const { return x_checker; }
  std::uint32_t first() const { return x_first; }
  bool records() const { return x_records; }
  /// Its blocks may access each other's shared memory.
  bool in_clusters() const { return x_in_clusters; }
  /// It cannot run before the inputs are there.
  bool knows_start() const { return x_knows_start; }
  const ClockPtr& start() const { return x_start; }
  /// A block has ended, knowing `outside`.
  void end(const ClockPtr& outside);
  /// What happens after all of it knows. Once all blocks have ended.
  ClockPtr finish();
  PlaceId place(std::uint32_t index) {
    if (x_places == nullptr) return 0;
    const PlaceId known = (*x_places)[index].load(std::memory_order_relaxed);
    return known != 0 ? known : new_place(index);
  }

 private:
  PlaceId new_place(std::uint32_t index);

  Checker& x_checker;
  std::shared_ptr<const Kernel> x_kernel;
  std::uint32_t x_first, x_count;
  bool x_records, x_in_clusters, x_knows_start;
  ClockPtr x_start;
  std::mutex x_mutex;
  ClockPtr x_end;
  std::vector<std::atomic<PlaceId>>* x_places;
};

/// The checks of one process's device.
class Checker {
 public:
  /// `report` is called for every finding, at most once for the same two places.
  Checker(std::vector<std::byte*> ledger_parts, int rank, std::function<void(Fault)> report);

  Ledger& ledger() { return x_ledger; }
  int rank() const { return x_ledger.rank(); }

  /// Between `begin_run` and `end_run` accesses to global memory are recorded and compared; outside only what memory
  /// has been initialised is.
  void begin_run();
  /// The inputs of the run are there for all that happens after what is returned.
  ClockPtr open();
  bool knows_start(const Clock& clock) const { return x_start.none() || clock.knows(x_start); }
  void end_run();
  bool is_running() const { return x_running; }

  /// Null when nothing is recorded.
  std::shared_ptr<Grid> begin(const Launch& launch, const ClockPtr& start);
  struct Touch {
    std::shared_ptr<Shadow> shadow;
    std::uint64_t offset = 0, bytes = 0;
    bool writes = false;
  };
  /// Work of the device itself. What happens after it knows.
  ClockPtr device_work(const std::string& name, const std::vector<Touch>& touches, const ClockPtr& start);

  /// Memory whose accesses are forgotten between runs.
  void add(const std::shared_ptr<Shadow>& shadow);

  /// Looks for writes to this rank's tensors that its own work, whose end knows `end`, did not wait for. While no
  /// rank runs anything.
  void review(const ClockPtr& end);
  /// Forgets the run.
  void clear();

  Ref keep(const Record& record);
  /// What the last strong write that starts at `offset` tells its readers from now on: `record`, 0 for nothing.
  void tell(Sector& sector, std::uint64_t offset, Ref record);
  /// Null for nothing.
  RecordPtr told(const Sector& sector, std::uint64_t offset);
  std::vector<std::atomic<PlaceId>>* places(const std::shared_ptr<const Kernel>& kernel);
  PlaceId add_place(const Kernel& kernel, std::uint32_t index);

  /// False when it was reported before.
  bool report(Fault::Kind kind, PlaceId a, PlaceId b, const std::function<Fault()>& fault);

 private:
  /// What has been read in the ledger, while it is there.
  template <class T>
  class Known {
   public:
    /// Null until it is set.
    std::shared_ptr<const T>& at(const Ledger& ledger, Ref ref) {
      Entry& entry = x_entries[ref];
      if (const std::uint32_t serial = ledger.serial(ref); serial != entry.serial) entry = {serial, nullptr};
      return entry.value;
    }
    void clear() { x_entries.clear(); }

   private:
    struct Entry {
      std::uint32_t serial = 0;
      std::shared_ptr<const T> value;
    };
    std::unordered_map<Ref, Entry> x_entries;
  };

  RecordPtr record(Ref ref);
  void drop(Ref record);
  Ref keep(const ClockPtr& clock);
  void drop_clock(Ref ref);
  void forget_kept();

  Ledger x_ledger;
  const std::function<void(Fault)> x_report;
  std::atomic<bool> x_running = false;
  Stamp x_start;  ///< when the inputs are there
  std::mutex x_mutex;
  std::vector<std::weak_ptr<Shadow>> x_shadows;
  Known<Record> x_records;
  Known<Clock> x_clocks;
  std::unordered_map<ClockPtr, Ref> x_kept;
  struct Places {
    std::shared_ptr<const Kernel> kernel;
    std::vector<std::atomic<PlaceId>> ids;
  };
  std::unordered_map<const Kernel*, std::unique_ptr<Places>> x_places;
  std::unordered_map<std::string, PlaceId> x_place_ids;  ///< by what they say
  std::set<std::tuple<Fault::Kind, PlaceId, PlaceId>> x_reported;
};

}  // namespace pkb::virtual_gpu::check
