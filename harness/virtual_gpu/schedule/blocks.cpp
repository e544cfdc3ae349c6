// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/prctl.h>

#include <algorithm>
#include <exception>
#include <map>
#include <utility>

#include "harness/virtual_gpu/schedule/engine.h"
#include "harness/virtual_gpu/schedule/grid.h"

namespace pkb::virtual_gpu {
namespace {

using namespace std::chrono_literals;

// Instructions of each warp before another resident block has its turn: about a millisecond, long against the
// cost of changing blocks and short against the time in which a counted spin must see its flag.
constexpr std::uint32_t kSlice = 8192;

// Looks for polling blocks are a quarter of the time apart that nothing has happened here, so that waiting adds at most
// that much to what is waited for while the number of looks grows only logarithmically; and so far apart that they
// take a small part of the core however many blocks poll.
constexpr auto kShortestPause = 4us, kLongestPause = 1000us;
constexpr int kPausePerLook = 8;

// Waits are worth describing when they last; the text costs more than the polls.
constexpr auto kDescribeAfter = 50ms;
// A program that asks again and again whether work is done waits for it.
constexpr auto kQuestionHolds = 50ms;
constexpr std::uint64_t kExplainBudget = 1'000'000;  // instructions of warps

std::string coordinates(const Dim3& block) { return fmt::format("({},{},{})", block.x, block.y, block.z); }

}  // namespace

void Engine::execute() {
  prctl(PR_SET_TIMERSLACK, 1000);  // ns: the default of 50 us would be most of a pause
  std::unique_lock lock(x_mutex);
  while (!x_stopping) {
    promote();
    if (run_device_work(lock)) continue;
    dispatch();
    if (ResidentPtr resident = next_block()) {
      run_block(lock, std::move(resident));
    } else {
      wait_for_work(lock);
    }
  }
}

// Gives blocks their places. As in the hardware a later grid gets only what the earlier ones leave, once all their
// blocks have places.
void Engine::dispatch() {
  for (const std::shared_ptr<Grid>& grid : x_grids) {
    while (grid->dispatched < grid->total) {
      std::vector<std::uint32_t> sms;
      if (grid->cluster > 1)
        sms = x_residency.take_cluster(grid->needs, grid->cluster);
      else if (const auto sm = x_residency.take(grid->needs))
        sms = {*sm};
      if (sms.empty()) return;
      auto resident = std::make_unique<Resident>();
      resident->grid = grid;
      resident->index = grid->order[grid->dispatched++];
      resident->sms = std::move(sms);
      x_ready.push_back(std::move(resident));
      if (x_options.threads > 1) x_work_changed.notify_one();
    }
  }
}

Engine::ResidentPtr Engine::next_block() {
  look_at_paused();
  const bool take_due = !x_due.empty() && (x_due_next || x_ready.empty());
  auto& queue = take_due ? x_due : x_ready;
  x_due_next = !take_due;
  if (queue.empty()) return nullptr;
  if (x_seed != 0) std::swap(queue.front(), queue[x_random() % queue.size()]);
  ResidentPtr resident = std::move(queue.front());
  queue.pop_front();
  return resident;
}

void Engine::run_block(std::unique_lock<std::mutex>& lock, ResidentPtr resident) {
  const std::shared_ptr<Grid> grid = resident->grid;
  std::uint32_t budget = kSlice;
  std::uint64_t seed = 0;
  if (grid->seed != 0) {
    seed = mix(mix(grid->seed, resident->index), resident->slices++);
    budget = 1 + static_cast<std::uint32_t>(seed >> 32) % kSlice;
  }
  ++x_running;
  ++grid->running;
  lock.unlock();

  std::optional<Fault> failure;
  auto outcome = Block::Outcome::fault;
  std::uint64_t instructions = 0, progress = 0;
  try {
    if (!resident->block) {
      resident->block = std::make_unique<Block>(grid->launch, x_memory, resident->index, resident->sms);
    }
    Block& block = *resident->block;
    const std::uint64_t instructions_before = block.counters().lane_instructions;
    const std::uint64_t progress_before = block.progress_count();
    outcome = block.run(budget, seed);
    instructions = block.counters().lane_instructions - instructions_before;
    progress = block.progress_count() - progress_before;
    if (outcome == Block::Outcome::fault) failure = resident->block->fault();
  } catch (const std::exception& error) {
    failure.emplace().kind = Fault::Kind::unsupported;
    failure->text = std::string("the virtual GPU cannot go on: ") + error.what();
    failure->kernel = grid->launch.kernel->display_name;
  }

  lock.lock();
  --x_running;
  --grid->running;
  x_work_done += instructions;
  if (resident->block) count_triggered(*resident, resident->block->triggered());
  if (failure || x_failed || outcome == Block::Outcome::finished) {
    block_ended(*resident);
    resident.reset();
    progressed();
    if (failure) fail(*failure);
    finish_if_done(grid);
  } else {
    keep(std::move(resident), outcome == Block::Outcome::polling, progress != 0);
  }
}

void Engine::keep(ResidentPtr resident, bool polls, bool memory_changed) {
  if (!polls || memory_changed) progressed();
  if (polls)
    x_paused.push_back(std::move(resident));
  else
    x_ready.push_back(std::move(resident));
}

void Engine::look_at_paused() {
  const auto begin = Clock::now();
  if (x_paused.empty() || begin < next_look()) return;
  // What the look before has found due has had its turn.
  if (x_ready.empty() && x_due.empty() && x_running == 0 && x_running_host_calls == 0) x_status.looks();
  const auto moving = std::partition(x_paused.begin(), x_paused.end(),
                                     [](const ResidentPtr& resident) { return !resident->block->may_go_on(); });
  std::move(moving, x_paused.end(), std::back_inserter(x_due));
  x_paused.erase(moving, x_paused.end());
  x_looked = Clock::now();
  x_look_cost = x_looked - begin;
}

Engine::Clock::time_point Engine::next_look() const {
  const Clock::duration pause =
      std::clamp<Clock::duration>((x_looked - x_progressed) / 4, kShortestPause, kLongestPause);
  return x_looked + std::max(pause, kPausePerLook * x_look_cost);
}

void Engine::count_triggered(Resident& resident, std::uint64_t blocks) {
  Grid& grid = *resident.grid;
  grid.triggered += blocks - std::exchange(resident.triggered, blocks);
  if (grid.triggered < grid.total * grid.cluster) return;
  Stream& stream = *grid.place.stream;
  bool& lets_next_start = stream.items[grid.place.sequence - stream.done - 1].lets_next_start;
  x_promotable |= !std::exchange(lets_next_start, true);
}

void Engine::block_ended(Resident& resident) {
  Grid& grid = *resident.grid;
  for (const std::uint32_t sm : resident.sms) x_residency.release(sm, grid.needs);
  ++grid.ended;
  count_triggered(resident, grid.cluster);
  if (resident.block) grid.counters += resident.block->counters();
}

void Engine::finish_if_done(const std::shared_ptr<Grid>& grid) {
  if (grid->running > 0 || (!x_failed && grid->ended < grid->total)) return;
  if (std::erase(x_grids, grid) == 0) return;
  x_counters += grid->counters;
  const Point& place = grid->place;
  if (grid->launch.check)
    place.stream->items[place.sequence - place.stream->done - 1].clock = grid->launch.check->finish();
  grid->done = true;
  grid->previous = nullptr;
  complete(place);
  x_work_changed.notify_all();
}

// What polls may now see what it waits for.
void Engine::progressed() {
  x_status.progressed();
  x_progressed = Clock::now();
  x_polling_since.reset();
  if (!x_paused.empty() && x_options.threads > 1) x_work_changed.notify_all();
}

void Engine::wait_for_work(std::unique_lock<std::mutex>& lock) {
  if (x_paused.empty()) {
    x_work_changed.wait(lock);
    return;
  }
  const auto now = Clock::now();
  if (x_running == 0 && x_running_host_calls == 0) {
    x_status.host_waits(x_waiting_callers > 0 || now - x_asked < kQuestionHolds);
    // Whoever reads that all wait reads for what, too.
    if (!x_polling_since) x_polling_since = now;
    if (!x_status.is_polling() && now - *x_polling_since > kDescribeAfter) {
      describe_waits();
      x_status.polls(true);
    }
  }
  x_work_changed.wait_until(lock, next_look());
}

// The context is dead, as a real one is: every grid ends with what its blocks have done so far.
void Engine::fail(const Fault& fault) {
  if (x_failed) return;
  x_failed = true;
  for (auto* queue : {&x_ready, &x_due}) {
    for (const ResidentPtr& resident : *queue) block_ended(*resident);
    queue->clear();
  }
  for (const ResidentPtr& resident : x_paused) block_ended(*resident);
  x_paused.clear();
  for (const std::shared_ptr<Grid>& grid : x_grids) grid->dispatched = grid->total;
  if (x_options.on_fault) x_options.on_fault(fault);
  const std::deque<std::shared_ptr<Grid>> grids = x_grids;
  for (const std::shared_ptr<Grid>& grid : grids) finish_if_done(grid);
}

void Engine::describe_waits() {
  // Blocks of a grid mostly wait for the same: one line tells of the first and how many there are.
  struct Waiting {
    Wait what;
    std::uint64_t first = 0, blocks = 0;
  };
  std::map<const Grid*, std::vector<Waiting>> waiting;
  const std::uint64_t budget = kExplainBudget / std::max<std::uint64_t>(x_paused.size(), 1);
  for (const ResidentPtr& resident : x_paused) {
    std::vector<Waiting>& known = waiting[resident->grid.get()];
    for (const Wait& wait : resident->block->waits(budget)) {
      auto same = std::ranges::find_if(known, [&](const Waiting& w) { return w.what.key() == wait.key(); });
      if (same == known.end()) {
        known.push_back({wait, resident->index, 1});
        continue;
      }
      same->what.merge(wait);
      same->first = std::min(same->first, resident->index);
      ++same->blocks;
    }
  }
  std::string text;
  for (const std::shared_ptr<Grid>& grid : x_grids) {
    const std::string name = "kernel " + grid->launch.kernel->display_name;
    if (const std::uint64_t absent = (grid->total - grid->dispatched) * grid->cluster; absent > 0) {
      const std::string first = coordinates(first_block(grid->launch, grid->order[grid->dispatched]));
      text += fmt::format("{}: block {}{} never started: the device is full with {} blocks, which wait\n", name, first,
                          absent == 1 ? "" : fmt::format(" and {} more", absent - 1), x_paused.size() * grid->cluster);
    }
    for (const Waiting& each : waiting[grid.get()])
      text += fmt::format("{}, block {}{}: {}\n", name, coordinates(first_block(grid->launch, each.first)),
                          each.blocks == 1 ? "" : fmt::format(" and {} more", each.blocks - 1), to_string(each.what));
  }
  x_status.describe_waits(text);
}

}  // namespace pkb::virtual_gpu
