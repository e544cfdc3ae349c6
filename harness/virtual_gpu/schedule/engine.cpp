// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/schedule/engine.h"

#include <algorithm>
#include <utility>

#include "harness/virtual_gpu/schedule/grid.h"

namespace pkb::virtual_gpu {

Engine::Engine(Memory& memory, Options options)
    : x_memory(memory),
      x_options(std::move(options)),
      x_residency(x_options.chip),
      x_status(x_options.status),
      x_seed(x_options.seed),
      x_random(x_options.seed) {
  x_legacy = create_stream(Stream::Kind::legacy);
}

Engine::~Engine() {
  {
    std::lock_guard lock(x_mutex);
    x_stopping = true;
  }
  x_work_changed.notify_all();
  x_host_changed.notify_all();
  for (std::thread& thread : x_threads) thread.join();
}

// Not in the constructor: a process that configures its device and then forks must have no threads yet.
void Engine::start_threads() {
  if (!x_threads.empty()) return;
  for (int i = 0; i < std::max(x_options.threads, 1); ++i) x_threads.emplace_back([this] { execute(); });
  x_threads.emplace_back([this] { serve_host_calls(); });
}

StreamPtr Engine::create_stream(Stream::Kind kind) {
  auto stream = std::make_shared<Stream>();
  stream->kind = kind;
  std::lock_guard lock(x_mutex);
  std::erase_if(x_streams, [](const std::weak_ptr<Stream>& each) { return each.expired(); });
  x_streams.push_back(stream);
  return stream;
}

Point Engine::submit(const StreamPtr& stream, Work work, std::vector<Point> after) {
  Point end;
  {
    std::lock_guard lock(x_mutex);
    start_threads();
    const auto wait_for = [&](const StreamPtr& other) {
      // Also when that is done: it is known to have happened before.
      if (other && other->submitted != 0) after.push_back({other, other->submitted});
    };
    if (stream->kind == Stream::Kind::legacy) {
      for (const std::weak_ptr<Stream>& each : x_streams) {
        const StreamPtr other = each.lock();
        if (other && other->kind == Stream::Kind::blocking) wait_for(other);
      }
    } else if (stream->kind == Stream::Kind::blocking) {
      wait_for(x_legacy);
    }
    if (stream->items.empty()) x_busy.push_back(stream);
    stream->items.push_back({std::move(work), std::move(after), false, x_host_clock});
    end = {stream, ++stream->submitted};
    x_promotable = true;
  }
  x_work_changed.notify_one();
  return end;
}

Point Engine::end_of(const StreamPtr& stream) {
  if (stream->kind == Stream::Kind::legacy) return submit(stream, DeviceWork{});
  std::lock_guard lock(x_mutex);
  return {stream, stream->submitted};
}

bool Engine::reached(const Point& point) const {
  std::lock_guard lock(x_mutex);
  note_question();
  if (!point.stream) return true;
  if (point.stream->done < point.sequence) return false;
  learn(point.stream->clock_at(point.sequence));
  return true;
}

bool Engine::idle(const StreamPtr& stream) const {
  std::lock_guard lock(x_mutex);
  note_question();
  const auto concerns = [&](const StreamPtr& busy) {
    return busy == stream || (stream->kind == Stream::Kind::legacy && busy->kind == Stream::Kind::blocking);
  };
  if (std::ranges::any_of(x_busy, concerns)) return false;
  learn(stream->clock_at(stream->done));
  return true;
}

bool Engine::all_idle() const {
  std::lock_guard lock(x_mutex);
  return x_busy.empty();
}

void Engine::wait(const Point& point) {
  if (!point.stream) return;
  std::unique_lock lock(x_mutex);
  wait_until(lock, [&] { return point.stream->done >= point.sequence; });
  learn(point.stream->clock_at(point.sequence));
}

void Engine::wait_all() {
  std::unique_lock lock(x_mutex);
  wait_until(lock, [&] { return x_busy.empty(); });
  for (const std::weak_ptr<Stream>& each : x_streams)
    if (const StreamPtr stream = each.lock()) learn(stream->clock_at(stream->done));
}

template <class Done>
void Engine::wait_until(std::unique_lock<std::mutex>& lock, Done done) {
  ++x_waiting_callers;
  x_work_ended.wait(lock, done);
  --x_waiting_callers;
}

bool Engine::failed() const {
  std::lock_guard lock(x_mutex);
  return x_failed;
}

void Engine::recover() {
  wait_all();
  std::lock_guard lock(x_mutex);
  x_failed = false;
}

void Engine::set_seed(std::uint64_t seed) {
  std::lock_guard lock(x_mutex);
  x_seed = seed;
  x_random.seed(seed);
}

void Engine::set_checker(check::Checker* checker) {
  std::lock_guard lock(x_mutex);
  x_checker = checker;
}

void Engine::begin_run(const StreamPtr& stream, const check::ClockPtr& opening) {
  std::lock_guard lock(x_mutex);
  x_host_clock = check::empty_clock();
  x_run_stream = stream;
  x_returned = nullptr;
  for (const std::weak_ptr<Stream>& each : x_streams)
    if (const StreamPtr any = each.lock()) {
      any->clocks.clear();
      any->last_grid = nullptr;
    }
  if (stream) stream->clocks[stream->done] = opening;
}

void Engine::run_returned() {
  std::lock_guard lock(x_mutex);
  x_returned = x_host_clock;
}

check::ClockPtr Engine::host_clock() const {
  std::lock_guard lock(x_mutex);
  return x_host_clock;
}

check::ClockPtr Engine::end_of_run() const {
  std::lock_guard lock(x_mutex);
  if (!x_run_stream || !x_returned) return x_host_clock;
  return check::joined(x_returned, x_run_stream->clock_at(x_run_stream->done));
}

Counters Engine::take_counters() {
  std::lock_guard lock(x_mutex);
  return std::exchange(x_counters, {});
}

std::uint64_t Engine::work_done() {
  std::lock_guard lock(x_mutex);
  return ++x_work_done;
}

bool Engine::ready(const Stream::Item& item) const {
  return std::ranges::all_of(item.after, [](const Point& point) { return point.stream->done >= point.sequence; });
}

// Starts every stream's head that has nothing left to wait for, until no more can start: an end may let a head
// of another stream start.
void Engine::promote() {
  while (x_promotable) {
    x_promotable = false;
    const std::vector<StreamPtr> busy = x_busy;
    for (const StreamPtr& stream : busy) {
      while (start_next(stream)) {
      }
    }
  }
}

// The first item that has not started may if it is the head, or is a programmatic launch and the kernel before it
// lets it.
bool Engine::start_next(const StreamPtr& stream) {
  auto& items = stream->items;
  const auto next = std::ranges::find(items, false, &Stream::Item::started);
  if (next == items.end() || !ready(*next)) return false;
  if (next != items.begin()) {
    const Launch* launch = std::get_if<Launch>(&next->work);
    if (launch == nullptr || !launch->programmatic || !std::prev(next)->lets_next_start || x_failed) return false;
  }
  next->started = true;
  const std::uint64_t sequence = stream->done + static_cast<std::uint64_t>(next - items.begin()) + 1;
  auto* const launch = std::get_if<Launch>(&next->work);
  // What starts early may know nothing of the kernel before, whenever that ends.
  const bool early = launch != nullptr && launch->programmatic && stream->last_grid && stream->last_grid_at + 1 == sequence;
  if (early) launch->prerequisite_check = stream->last_grid;
  next->clock = check::joined(next->clock, stream->clock_at(sequence - (early ? 2 : 1)));
  for (const Point& point : next->after)
    next->clock = check::joined(next->clock, point.stream->clock_at(point.sequence));
  next->after.clear();
  start(stream, static_cast<std::size_t>(next - items.begin()));
  return true;
}

void Engine::start(const StreamPtr& stream, std::size_t index) {
  Work& work = stream->items[index].work;
  const Point place{stream, stream->done + index + 1};
  if (std::holds_alternative<HostCall>(work)) {
    x_host_calls.push_back(stream);
    x_host_changed.notify_one();
  } else if (x_failed) {
    complete(place);
  } else if (auto* device_work = std::get_if<DeviceWork>(&work)) {
    if (device_work->run) {
      x_device_work.push_back(stream);
      x_work_changed.notify_one();
    } else {
      complete(place);
    }
  } else {
    auto grid = std::make_shared<Grid>(std::move(std::get<Launch>(work)), place, x_options.chip,
                                       x_seed == 0 ? 0 : mix(x_seed, x_launches));
    for (const std::shared_ptr<Grid>& other : x_grids) {
      if (other->place.stream != stream || other->place.sequence + 1 != place.sequence) continue;
      grid->previous = other;
      grid->launch.prerequisite = &other->done;
    }
    if (x_checker != nullptr) grid->launch.check = x_checker->begin(grid->launch, stream->items[index].clock);
    stream->last_grid = grid->launch.check;
    stream->last_grid_at = place.sequence;
    ++x_launches;
    x_status.launched();
    x_grids.push_back(std::move(grid));
    progressed();
    x_work_changed.notify_all();
  }
}

// A programmatic launch may end before the kernel that let it start; its place is reached after that one's.
void Engine::complete(const Point& place) {
  const StreamPtr& stream = place.stream;
  stream->items[place.sequence - stream->done - 1].ended = true;
  while (!stream->items.empty() && stream->items.front().ended) {
    if (x_checker != nullptr)
      stream->clocks[stream->done + 1] = check::joined(stream->items.front().clock, stream->clock_at(stream->done));
    stream->items.pop_front();
    ++stream->done;
  }
  if (stream->items.empty()) std::erase(x_busy, stream);
  x_promotable = true;
  x_work_ended.notify_all();
}

bool Engine::run_device_work(std::unique_lock<std::mutex>& lock) {
  if (x_device_work.empty()) return false;
  const StreamPtr stream = std::move(x_device_work.front());
  x_device_work.pop_front();
  const DeviceWork work = std::move(std::get<DeviceWork>(stream->items.front().work));
  check::ClockPtr clock = stream->items.front().clock;
  check::Checker* const checker = x_checker;
  ++x_running;
  lock.unlock();
  work.run();
  if (checker != nullptr && work.touches != nullptr && !work.touches->empty())
    clock = checker->device_work(work.name, *work.touches, clock);
  lock.lock();
  stream->items.front().clock = clock;
  --x_running;
  complete({stream, stream->done + 1});
  progressed();
  return true;
}

void Engine::serve_host_calls() {
  std::unique_lock lock(x_mutex);
  while (true) {
    x_host_changed.wait(lock, [&] { return x_stopping || !x_host_calls.empty(); });
    if (x_stopping) return;
    const StreamPtr stream = std::move(x_host_calls.front());
    x_host_calls.pop_front();
    const auto run = std::move(std::get<HostCall>(stream->items.front().work).run);
    const bool after_failure = x_failed;
    ++x_running_host_calls;
    progressed();
    lock.unlock();
    run(after_failure);
    lock.lock();
    --x_running_host_calls;
    complete({stream, stream->done + 1});
    progressed();
    x_work_changed.notify_one();
  }
}

}  // namespace pkb::virtual_gpu
