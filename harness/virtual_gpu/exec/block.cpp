// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/exec/block.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "harness/virtual_gpu/exec/cluster.h"
#include "harness/virtual_gpu/exec/past_code.h"

namespace pkb::virtual_gpu {
namespace {

Dim3 unflatten(std::uint64_t index, const Dim3& size) {
  return {static_cast<std::uint32_t>(index % size.x), static_cast<std::uint32_t>(index / size.x % size.y),
          static_cast<std::uint32_t>(index / (std::uint64_t{size.x} * size.y))};
}

}  // namespace

BlockState::BlockState(ClusterState& cluster, const Launch& launch, Memory& memory, const Position& position)
    : x_cluster(cluster),
      x_launch(launch),
      x_kernel(*launch.kernel),
      x_memory(memory),
      x_position(position),
      x_thread_count(static_cast<std::uint32_t>(launch.block.count())),
      x_live_threads(x_thread_count),
      x_shared_bytes(std::max<std::uint64_t>(x_kernel.static_shared,
                                             x_kernel.dynamic_shared_offset + launch.dynamic_shared)),
      x_ranges(x_kernel.memory_accesses),
      x_delayed(cluster) {
  const std::uint32_t warps = (x_thread_count + kLanes - 1) / kLanes;
  x_read.resize(static_cast<std::size_t>(launch.ranks) + 1);
  x_written.resize(static_cast<std::size_t>(launch.ranks) + 1);
  x_shared = aligned_bytes(x_shared_bytes);
  const std::size_t stride = (x_kernel.functions[0].register_bytes + 63) / 64 * 64;
  x_registers = aligned_bytes(stride * warps);
  x_warps.reserve(warps);
  for (std::uint32_t i = 0; i < warps; ++i) {
    const std::uint32_t threads = std::min<std::uint32_t>(x_thread_count - i * kLanes, kLanes);
    x_warps.emplace_back(*this, i, kAllLanes >> (kLanes - threads), x_registers.get() + i * stride);
  }
  if (launch.check) {
    const Dim3& at = position.index;
    const std::uint64_t linear = at.x + launch.grid.x * (at.y + std::uint64_t{launch.grid.y} * at.z);
    x_check = std::make_unique<check::BlockCheck>(launch.check, linear, x_thread_count, x_shared_bytes);
  }
  x_copies.reserve(warps);
  for (Warp& warp : x_warps) x_copies.emplace_back(warp);
  for (Barrier& barrier : x_barriers) barrier.lanes.resize(warps);
  x_warpgroups.resize((warps + Warpgroup::kWarps - 1) / Warpgroup::kWarps);
  x_stops.assign(warps, Warp::Stop::budget);
}

Dim3 BlockState::thread(std::uint32_t warp, int lane) const {
  return unflatten(std::uint64_t{warp} * kLanes + static_cast<std::uint64_t>(lane), x_launch.block);
}

void BlockState::refresh() {
  if (x_memory.generation() == x_generation && x_allocations) return;
  x_generation = x_memory.generation();
  x_allocations = x_memory.snapshot();
  std::fill(x_ranges.begin(), x_ranges.end(), Range{});
}

BlockState::SharedPlace BlockState::locate(std::uint64_t address) {
  const std::uint64_t rank = address >> kRankShift;
  if (rank == 0) return {this, address};
  return {x_cluster.block(rank - 1), address & ((1u << kRankShift) - 1)};
}

void BlockState::count_copied(std::uint32_t owner, std::uint64_t bytes, bool write) {
  if (owner == AsyncCopy::kShared)
    count_shared(bytes, write);
  else
    (write ? x_written : x_read)[owner] += bytes;
}

void BlockState::raise(Fault fault) {
  if (!x_fault) x_fault = std::move(fault);
}

const Counters& BlockState::total_counters() {
  x_counters.warp_instructions = x_counters.lane_instructions = 0;
  for (const Warp& warp : x_warps) {
    x_counters.warp_instructions += warp.warp_instructions();
    x_counters.lane_instructions += warp.lane_instructions();
  }
  x_counters.global_read = std::accumulate(x_read.begin(), x_read.end(), std::uint64_t{0});
  x_counters.global_written = std::accumulate(x_written.begin(), x_written.end(), std::uint64_t{0});
  x_counters.read_from.assign(x_read.begin(), x_read.end() - 1);
  x_counters.written_to.assign(x_written.begin(), x_written.end() - 1);
  return x_counters;
}

const Allocation* BlockState::allocation(std::uint64_t address) {
  const Allocation* found = Memory::find(*x_allocations, address);
  if (found == nullptr &&
      x_memory.generation() != x_generation) {  // allocated since the block last began to run
    x_generation = x_memory.generation();
    x_allocations = x_memory.snapshot();
    found = Memory::find(*x_allocations, address);
  }
  return found;
}

std::byte* BlockState::look_up(std::uint32_t slot, std::uint64_t address, std::uint64_t bytes, bool write) {
  const Allocation* found = allocation(address);
  if (found == nullptr || bytes > found->bytes - (address - found->base) || (write && found->constant) ||
      !found->replicas.empty())
    return nullptr;
  const auto others =
      static_cast<std::uint32_t>(x_launch.ranks);  // the last counter is for memory of no rank
  const bool known = found->owner >= 0 && found->owner < x_launch.ranks;
  std::byte* const host = host_bytes(address, found->to_host);
  if (x_watching) x_watch.add(host, bytes);
  if (x_delays) x_delayed.settle(host, bytes);
  x_ranges[slot] = {found->base,
                    x_watching || x_delays ? 0 : found->bytes,
                    found->to_host,
                    known ? static_cast<std::uint32_t>(found->owner) : others,
                    found->constant,
                    found->shadow.get()};
  return host;
}

void BlockState::delay_stores(bool delays) {
  if (delays == x_delays) return;
  x_delays = delays;
  x_delayed.perform_all();
  std::fill(x_ranges.begin(), x_ranges.end(), Range{});
}

bool BlockState::watch_polling() {
  constexpr std::uint32_t kLongestRound = 1u << 16;  // instructions
  x_watch.clear();
  x_watching = true;
  std::fill(x_ranges.begin(), x_ranges.end(), Range{});
  bool polls = true;
  for (std::uint32_t i = 0; i < x_warps.size(); ++i) {
    if (x_stops[i] != Warp::Stop::polling) continue;
    const std::uint64_t progress = x_warps[i].progress_count();
    x_stops[i] = x_warps[i].run(kLongestRound);
    if (x_stops[i] == Warp::Stop::budget) x_watch.give_up();
    polls &= x_warps[i].progress_count() == progress &&
             (x_stops[i] == Warp::Stop::polling || x_stops[i] == Warp::Stop::budget);
  }
  std::fill(x_ranges.begin(), x_ranges.end(), Range{});
  x_watching = false;
  x_watch.seal();
  return polls;
}

std::uint64_t BlockState::progress_count() const {
  std::uint64_t count = 0;
  for (const Warp& warp : x_warps) count += warp.progress_count();
  return count;
}

std::string BlockState::describe(std::uint64_t address, std::uint64_t bytes) const {
  if (address < 4096) return "a null pointer";
  const Memory::Snapshot& all = *x_allocations;
  if (const Allocation* in = Memory::find(all, address); in != nullptr) {
    if (in->constant) return fmt::format("in {}, which is constant", in->name);
    if (!in->replicas.empty()) return fmt::format("{}, which is for multimem instructions only", in->name);
    return fmt::format("{} bytes of it beyond the end of {} ({} bytes)",
                       bytes - (in->bytes - (address - in->base)), in->name, in->bytes);
  }
  if (const std::string freed = x_memory.freed(address); !freed.empty())
    return fmt::format("in {}, which has been freed", freed);
  const Allocation* nearest = nullptr;
  std::uint64_t distance = ~0ull;
  bool after = false;
  for (const Allocation& allocation : all) {
    const bool behind = address >= allocation.base;
    const std::uint64_t gap =
        behind ? address - (allocation.base + allocation.bytes) : allocation.base - address;
    if (gap >= distance) continue;
    nearest = &allocation;
    distance = gap;
    after = behind;
  }
  if (nearest == nullptr) return "and the device has no memory allocated";
  return fmt::format("{} bytes {} {} ({} bytes)", distance,
                     after ? "after the end of" : "before the start of", nearest->name, nearest->bytes);
}

bool BlockState::complete(const Barrier& barrier) const {
  if (barrier.threads == 0 && barrier.arrivals < x_live_threads) return false;
  std::uint32_t arrived = barrier.again;
  bool all = true;
  for (std::size_t i = 0; i < x_warps.size(); ++i) {
    const std::uint32_t missing = x_warps[i].live() & ~barrier.lanes[i];
    all = all && missing == 0;
    if (barrier.lanes[i] != 0)  // exited threads of an arriving warp count
      arrived += missing == 0 ? kLanes : static_cast<std::uint32_t>(std::popcount(barrier.lanes[i]));
  }
  return barrier.threads == 0 ? all : arrived >= barrier.threads;
}

void BlockState::arrive(Warp& warp, const Instruction& in, const Arrival& arrival) {
  if (arrival.id >= kBarriers)
    return warp.fault(in, warp.first_lane(), Fault::Kind::invalid_instruction, 0,
                      fmt::format("barrier {} does not exist; a block has {}", arrival.id, kBarriers));
  if (arrival.threads % kLanes != 0)
    return warp.fault(in, warp.first_lane(), Fault::Kind::invalid_instruction, 0,
                      fmt::format("barrier {} for {} threads, which is not a multiple of {}", arrival.id,
                                  arrival.threads, kLanes));
  Barrier& barrier = x_barriers[arrival.id];
  const auto lanes = static_cast<std::uint32_t>(std::popcount(warp.mask()));
  barrier.active = true;
  barrier.threads = arrival.threads;
  barrier.arrivals += lanes;
  std::uint32_t& arrived = barrier.lanes[warp.index()];
  if ((arrived & warp.mask()) != 0) barrier.again += (warp.live() & ~warp.mask()) == 0 ? kLanes : lanes;
  arrived |= warp.mask();
  if (arrival.reduces) {
    barrier.reducing += lanes;
    barrier.holds += static_cast<std::uint32_t>(std::popcount(arrival.predicate & warp.mask()));
  }
  warp.progress();
  x_delayed.share(warp.index(), warp.mask());
  if (x_check) x_check->arrive(arrival.id, warp.index(), warp.mask());
  if (arrival.waits) warp.park(in, Fragment::State::barrier, arrival.id);
  if (complete(barrier)) release(arrival.id);
}

void BlockState::exited(const Warp& warp, std::uint32_t lanes) {
  if (x_check) x_check->exit(warp.index(), lanes);
  x_delayed.share(warp.index(), lanes);
  x_live_threads -= static_cast<std::uint32_t>(std::popcount(lanes));
  for (std::uint32_t id = 0; id < kBarriers; ++id)
    if (x_barriers[id].active && complete(x_barriers[id])) release(id);
  if (x_live_threads == 0) {
    x_delayed.perform_all();
    for (CopyQueue& copies : x_copies) copies.perform_all();
  }
  if (x_live_threads == 0 && x_check) x_check->finish();
  x_cluster.exited();
}

void BlockState::release(std::uint32_t id) {
  Barrier& barrier = x_barriers[id];
  for (Warp& warp : x_warps)
    warp.release(id, [&](const Fragment& fragment) {
      finish_barrier(fragment, barrier);
      if (x_check) x_check->leave(id, warp.index(), fragment.lanes);
    });
  if (x_check) x_check->reset(id);
  barrier.active = false;
  barrier.threads = barrier.arrivals = barrier.again = barrier.holds = barrier.reducing = 0;
  std::fill(barrier.lanes.begin(), barrier.lanes.end(), 0u);
}

Kernel::Kernel() : past_code(std::make_unique<PastCode>()) {}
Kernel::~Kernel() = default;
Kernel::Kernel(Kernel&&) noexcept = default;
Kernel& Kernel::operator=(Kernel&&) noexcept = default;

Counters& Counters::operator+=(const Counters& other) {
  lane_instructions += other.lane_instructions;
  warp_instructions += other.warp_instructions;
  global_read += other.global_read;
  global_written += other.global_written;
  shared_read += other.shared_read;
  shared_written += other.shared_written;
  const auto add = [](std::vector<std::uint64_t>& to, const std::vector<std::uint64_t>& from) {
    if (to.size() < from.size()) to.resize(from.size());
    std::transform(from.begin(), from.end(), to.begin(), to.begin(), std::plus<>());
  };
  add(read_from, other.read_from);
  add(written_to, other.written_to);
  return *this;
}

}  // namespace pkb::virtual_gpu
