// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/exec/cluster.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace pkb::virtual_gpu {
namespace {

// Instructions of a warp's turn. Neighbouring warps work on neighbouring memory, so turns are short.
constexpr std::uint64_t kTurn = 256;

// A copy or store is delayed by up to this many turns of warps, drawn so that every magnitude is as likely.
constexpr unsigned kDelayBits = 10;

std::uint64_t next_random(std::uint64_t& state) {  // splitmix64
  std::uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

}  // namespace

Dim3 first_block(const Launch& launch, std::uint64_t index) {
  const Dim3 &grid = launch.grid, &size = launch.cluster;
  const std::uint64_t across = grid.x / size.x, down = grid.y / size.y;
  return {static_cast<std::uint32_t>(index % across * size.x),
          static_cast<std::uint32_t>(index / across % down * size.y),
          static_cast<std::uint32_t>(index / across / down * size.z)};
}

ClusterState::ClusterState(const Launch& launch, Memory& memory, std::uint64_t index,
                           std::span<const std::uint32_t> sms) {
  const Dim3 &size = launch.cluster, first = first_block(launch, index);
  for (std::uint32_t rank = 0; rank < size.count(); ++rank) {
    const Dim3 at{first.x + rank % size.x, first.y + rank / size.x % size.y, first.z + rank / size.x / size.y};
    x_blocks.push_back(std::make_unique<BlockState>(
        *this, launch, memory, BlockState::Position{.rank = rank, .index = at, .sm = sms[rank]}));
  }
}

Block::Outcome ClusterState::run(std::uint32_t budget, std::uint64_t seed) {
  struct Turn {
    BlockState* block;
    std::uint32_t warp;
    std::uint64_t used = 0;
  };
  x_random = seed;
  std::vector<Turn> turns;
  for (const auto& block : x_blocks) {
    block->refresh();
    block->delay_stores(seed != 0);
    for (std::uint32_t i = 0; i < block->warps().size(); ++i) turns.push_back({block.get(), i});
  }
  for (;;) {
    for (std::size_t i = turns.size(); x_random != 0 && i > 1; --i)
      std::swap(turns[i - 1], turns[next_random(x_random) % i]);
    bool live = false, progressed = false, polls = false, left = false;
    for (auto& [block, index, used] : turns) {
      Warp& warp = block->warps()[index];
      if (warp.live() == 0) continue;
      live = true;
      if (used >= budget) continue;
      const std::uint64_t instructions = warp.warp_instructions(), progress = warp.progress_count();
      // A seed also cuts the warps' turns at different places.
      const std::uint64_t turn = x_random == 0 ? kTurn : 1 + next_random(x_random) % (2 * kTurn);
      const Warp::Stop stop = warp.run(static_cast<std::uint32_t>(std::min<std::uint64_t>(turn, budget - used)));
      block->stopped(index, stop);
      used += warp.warp_instructions() - instructions;
      ++x_now;
      // What was performed may be what the warp polls for.
      const std::int64_t pending = x_pending;
      if (pending != 0) perform_due(x_now);
      progressed |= x_pending != pending;
      if (stop == Warp::Stop::waiting && warp.waits_for_itself()) stuck(*block, index);
      if (stop == Warp::Stop::fault || has_fault()) return Block::Outcome::fault;
      polls |= stop == Warp::Stop::polling;
      left |= stop != Warp::Stop::waiting && stop != Warp::Stop::finished && used < budget;
      progressed |= warp.progress_count() != progress ||
                    (stop != Warp::Stop::polling && warp.warp_instructions() != instructions);
    }
    if (!live) return Block::Outcome::finished;
    if (progressed) continue;
    if (std::any_of(turns.begin(), turns.end(), [budget](const Turn& turn) { return turn.used >= budget; }))
      return Block::Outcome::budget;
    if (x_pending != 0) {
      perform_next();
      if (has_fault()) return Block::Outcome::fault;
      continue;
    }
    if (polls) return watch_polling();
    if (left) continue;
    stuck();
    return Block::Outcome::fault;
  }
}

Block::Outcome ClusterState::watch_polling() {
  bool polls = true;
  for (const auto& block : x_blocks) polls &= block->watch_polling();
  if (has_fault()) return Block::Outcome::fault;
  return polls ? Block::Outcome::polling : Block::Outcome::budget;
}

bool ClusterState::may_go_on() const {
  return std::ranges::any_of(x_blocks, [](const auto& block) { return block->may_go_on(); });
}

std::uint64_t ClusterState::progress_count() const {
  std::uint64_t count = 0;
  for (const auto& block : x_blocks) count += block->progress_count();
  return count;
}

std::uint64_t ClusterState::draw_due() {
  if (x_random == 0) return x_now + 1;
  const std::uint64_t longest = std::uint64_t{1} << next_random(x_random) % (kDelayBits + 1);
  return x_now + 1 + next_random(x_random) % longest;
}

bool ClusterState::draws_delay() { return x_random != 0 && next_random(x_random) % 4 == 0; }

void ClusterState::perform_due(std::uint64_t now) {
  for (const auto& block : x_blocks) {
    if (DelayedStores* const stores = block->delayed_stores()) stores->perform_due(now);
    for (CopyQueue& copies : block->copies())
      if (!copies.empty()) copies.perform_due(now);
  }
}

// Nothing else can happen: time passes until the next copy or store is due.
void ClusterState::perform_next() {
  std::uint64_t due = ~std::uint64_t{0};
  for (const auto& block : x_blocks) {
    if (const DelayedStores* const stores = block->delayed_stores()) due = std::min(due, stores->next_due());
    for (const CopyQueue& copies : block->copies()) due = std::min(due, copies.next_due());
  }
  x_now = std::max(x_now, due);
  perform_due(x_now);
}

void ClusterState::arrive(Warp& warp, const Instruction& in) {
  auto& [arrived, released] = warp.cluster_barrier();
  if (const std::uint32_t twice = warp.mask() & (arrived | released); twice != 0)
    return warp.fault(in, std::countr_zero(twice), Fault::Kind::invalid_instruction, 0,
                      "barrier.cluster.arrive twice without barrier.cluster.wait between");
  arrived |= warp.mask();
  warp.block().release_stores(warp.index(), warp.mask(), check::Scope::cluster);
  if (check::BlockCheck* const check = warp.block().check())
    x_arrived = check::joined(x_arrived, check->publish(warp.index(), warp.mask()));
  warp.progress();
  complete_barrier();
}

void ClusterState::wait(Warp& warp, const Instruction& in) {
  auto& [arrived, released] = warp.cluster_barrier();
  const std::uint32_t passing = warp.mask() & released, waiting = warp.mask() & arrived;
  if (const std::uint32_t others = warp.mask() & ~(passing | waiting); others != 0)
    return warp.fault(in, std::countr_zero(others), Fault::Kind::invalid_instruction, 0,
                      "barrier.cluster.wait without barrier.cluster.arrive before it");
  released &= ~passing;
  if (check::BlockCheck* const check = warp.block().check(); check != nullptr && passing != 0)
    check->join(warp.index(), passing, x_completed);
  warp.progress();
  if (waiting == 0) return;
  if (passing != 0) warp.split(&in + 1, passing, &warp.frame());
  warp.park(in, Fragment::State::barrier, kClusterBarrier);
}

void ClusterState::exited() {
  if (size() > 1) complete_barrier();
}

void ClusterState::complete_barrier() {
  bool any = false;
  for (const auto& block : x_blocks)
    for (Warp& warp : block->warps()) {
      const auto& [arrived, released] = warp.cluster_barrier();
      if ((warp.live() & ~arrived) != 0) return;
      any |= (warp.live() & arrived) != 0;
    }
  if (!any) return;
  x_completed = std::exchange(x_arrived, check::empty_clock());
  for (const auto& block : x_blocks)
    for (Warp& warp : block->warps()) {
      auto& barrier = warp.cluster_barrier();
      barrier.released = std::exchange(barrier.arrived, 0);
      // Whoever waits already has passed by that.
      warp.release(kClusterBarrier, [&](const Fragment& fragment) {
        barrier.released &= ~fragment.lanes;
        if (check::BlockCheck* const check = block->check()) check->join(warp.index(), fragment.lanes, x_completed);
      });
    }
}

bool ClusterState::has_fault() const {
  return std::any_of(x_blocks.begin(), x_blocks.end(), [](const auto& block) { return block->fault() != nullptr; });
}

const Fault& ClusterState::fault() const {
  const auto failed = std::find_if(x_blocks.begin(), x_blocks.end(),
                                   [](const auto& block) { return block->fault() != nullptr; });
  return *(*failed)->fault();
}

const Counters& ClusterState::counters() {
  if (x_blocks.size() == 1) return x_blocks[0]->total_counters();
  x_counters = Counters();
  for (const auto& block : x_blocks) x_counters += block->total_counters();
  return x_counters;
}

std::uint32_t ClusterState::triggered() const {
  return static_cast<std::uint32_t>(std::count_if(x_blocks.begin(), x_blocks.end(),
                                                  [](const auto& block) { return block->has_triggered(); }));
}

Block::Block(const Launch& launch, Memory& memory, std::uint64_t index, std::span<const std::uint32_t> sms)
    : x_state(std::make_unique<ClusterState>(launch, memory, index, sms)) {}
Block::Block(const Launch& launch, Memory& memory, std::uint64_t index, std::uint32_t sm)
    : Block(launch, memory, index, std::span(&sm, 1)) {}
Block::~Block() = default;
Block::Outcome Block::run(std::uint32_t budget, std::uint64_t seed) { return x_state->run(budget, seed); }
const Fault& Block::fault() const { return x_state->fault(); }
bool Block::may_go_on() const { return x_state->may_go_on(); }
std::uint64_t Block::progress_count() const { return x_state->progress_count(); }
const Counters& Block::counters() const { return x_state->counters(); }
std::uint32_t Block::triggered() const { return x_state->triggered(); }
std::vector<Wait> Block::waits(std::uint64_t budget) { return x_state->waits(budget); }

}  // namespace pkb::virtual_gpu
