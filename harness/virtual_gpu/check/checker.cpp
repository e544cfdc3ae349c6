// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/check/checker.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "harness/virtual_gpu/check/block_check.h"
#include "harness/virtual_gpu/check/report.h"

namespace pkb::virtual_gpu::check {
namespace {

constexpr std::size_t kMostReports = 24;

template <std::size_t size>
void set_text(char (&to)[size], const std::string& text, bool keep_end) {
  const std::size_t length = std::min(text.size(), size - 1);
  std::memcpy(to, text.data() + (keep_end ? text.size() - length : 0), length);
  to[length] = 0;
}

void set_extents(std::uint32_t (&to)[3], const Dim3& from) {
  to[0] = from.x;
  to[1] = from.y;
  to[2] = from.z;
}

}  // namespace

Grid::Grid(Checker& checker, const Launch& launch, std::uint32_t first, ClockPtr start)
    : x_checker(checker),
      x_kernel(launch.kernel),
      x_first(first),
      x_count(static_cast<std::uint32_t>(launch.grid.count())),
      x_records(checker.is_running()),
      x_start(std::move(start)),
      x_end(x_start),
      x_places(x_kernel ? checker.places(x_kernel) : nullptr) {}

void Grid::end(const ClockPtr& outside) {
  const std::lock_guard lock(x_mutex);
  x_end = joined(x_end, outside);
}

ClockPtr Grid::finish() {
  const std::lock_guard lock(x_mutex);
  auto all = std::make_shared<Clock>(*x_end);
  all->add_ended(x_first, x_first + x_count);
  return all;
}

PlaceId Grid::place(std::uint32_t index) {
  if (x_places == nullptr) return 0;
  std::atomic<PlaceId>& known = (*x_places)[index];
  if (const PlaceId id = known.load(std::memory_order_relaxed); id != 0) return id;
  known = x_checker.add_place(*x_kernel, index);
  return known;
}

Checker::Checker(std::vector<std::byte*> ledger_parts, int rank, std::function<void(Fault)> report)
    : x_ledger(std::move(ledger_parts), rank), x_report(std::move(report)) {}

void Checker::begin_run() {
  const std::lock_guard lock(x_mutex);
  x_running = true;
}

void Checker::end_run() {
  const std::lock_guard lock(x_mutex);
  x_running = false;
}

std::shared_ptr<Grid> Checker::begin(const Launch& launch, const ClockPtr& start) {
  const std::lock_guard lock(x_mutex);
  if (x_ledger.stopped()) return nullptr;
  Ledger::Launch entry;
  set_text(entry.name, "kernel " + launch.kernel->display_name, false);
  set_extents(entry.grid, launch.grid);
  set_extents(entry.block, launch.block);
  const auto first = x_ledger.add_launch(entry, launch.grid.count());
  if (!first) return nullptr;
  if (auto& places = x_places[launch.kernel.get()]; places == nullptr) {
    places = std::make_unique<Places>();
    places->kernel = launch.kernel;
    places->ids = std::vector<std::atomic<PlaceId>>(launch.kernel->places.size());
  }
  return std::make_shared<Grid>(*this, launch, *first, start);
}

std::vector<std::atomic<PlaceId>>* Checker::places(const std::shared_ptr<const Kernel>& kernel) {
  return &x_places.at(kernel.get())->ids;
}

ClockPtr Checker::device_work(const std::string& name, const std::vector<Touch>& touches,
                              const ClockPtr& start) {
  std::shared_ptr<Grid> grid;
  {
    const std::lock_guard lock(x_mutex);
    for (const Touch& each : touches)
      if (each.writes && each.shadow->tracks_initialisation()) each.shadow->mark_written(each.offset, each.bytes);
    if (!x_running || x_ledger.stopped()) return start;
    Ledger::Launch entry;
    set_text(entry.name, name, false);
    const auto first = x_ledger.add_launch(entry, 1);
    if (!first) return start;
    grid = std::make_shared<Grid>(*this, Launch{}, *first, start);
  }
  BlockCheck block(grid, 0, 1, 0);
  for (const Touch& each : touches)
    block.stretch({.kind = each.writes ? Access::Kind::write : Access::Kind::peek}, *each.shadow, 0, each.offset,
                  each.bytes);
  block.exit(0, 1);
  block.finish();
  return grid->finish();
}

void Checker::add(const std::shared_ptr<Shadow>& shadow) {
  const std::lock_guard lock(x_mutex);
  std::erase_if(x_shadows, [](const auto& each) { return each.expired(); });
  x_shadows.push_back(shadow);
}

void Checker::review(const ClockPtr& end) {
  const std::lock_guard lock(x_mutex);
  if (x_ledger.stopped()) {
    fmt::print(stderr, "The race checks of a run ended early: {}\n", x_ledger.why_stopped());
    return;
  }
  for (const auto& each : x_shadows) {
    const std::shared_ptr<Shadow> shadow = each.lock();
    if (!shadow || shadow->kind() != Shadow::Kind::output || shadow->owner() != rank()) continue;
    const std::uint64_t granules = (shadow->bytes() + kGranule - 1) / kGranule;
    for (std::uint64_t i = 0; i < granules; ++i) {
      const Stamp write{shadow->cells()[i].write};
      if (write.none() || rank_of(block_of(write.thread())) == static_cast<std::uint32_t>(rank()) ||
          end->knows(write))
        continue;
      Fault fault = fault_at(x_ledger, Fault::Kind::late_write, shadow->cells()[i].write_place, write);
      fault.text = fmt::format(
          "rank {} may end its run while {} is still written: nothing orders byte {} of it, {}, before the end",
          rank(), shadow->name(), i * kGranule, describe(x_ledger, write, shadow->cells()[i].write_place));
      x_report(std::move(fault));
      break;
    }
  }
}

void Checker::clear() {
  const std::lock_guard lock(x_mutex);
  for (const auto& each : x_shadows)
    if (const std::shared_ptr<Shadow> shadow = each.lock()) {
      const bool private_memory = shadow->kind() == Shadow::Kind::scratch || shadow->kind() == Shadow::Kind::other;
      if (private_memory || shadow->owner() == rank()) shadow->clear();
    }
  x_records.clear();
  x_clocks.clear();
  x_kept.clear();
  x_ledger.clear();
}

RecordPtr Checker::record(Ref ref) {
  const std::lock_guard lock(x_mutex);
  RecordPtr& known = x_records.at(x_ledger, ref);
  if (known) return known;
  auto record = std::make_shared<Record>();
  const std::span<const std::uint32_t> words = std::as_const(x_ledger).words(ref);
  if (words.size() >= 3) {
    record->writer = words[0];
    record->scope = static_cast<Scope>(words[1] & 3);
    record->place = words[2];
    for (std::size_t i = 3; i + 3 < words.size(); i += 4) {
      ClockPtr& clock = x_clocks.at(x_ledger, words[i + 3]);
      if (!clock) {
        const std::span<const std::uint32_t> its = std::as_const(x_ledger).words(words[i + 3]);
        clock = std::make_shared<Clock>(Clock::decode(its.subspan(std::min<std::size_t>(1, its.size()))));
      }
      record->releases.push_back({static_cast<Scope>(words[i] & 3), words[i + 1], words[i + 2], clock});
    }
  }
  return known = std::move(record);
}

// A clock's first word counts who refers to it: records, and x_kept.
std::atomic_ref<std::uint32_t> references(Ledger& ledger, Ref clock) { return std::atomic_ref(ledger.words(clock)[0]); }

Ref Checker::keep(const ClockPtr& clock) {
  constexpr std::size_t kMostKept = 4096;
  if (x_kept.size() == kMostKept) forget_kept();
  Ref& ref = x_kept[clock];
  if (ref == 0) {
    std::vector<std::uint32_t> words = clock->encode();
    words.insert(words.begin(), 1);
    ref = x_ledger.keep(words);
    x_clocks.at(x_ledger, ref) = clock;
  }
  if (ref != 0) ++references(x_ledger, ref);
  return ref;
}

void Checker::forget_kept() {
  for (const auto& [clock, ref] : x_kept) drop_clock(ref);
  x_kept.clear();
}

void Checker::drop_clock(Ref ref) {
  if (x_ledger.words(ref).empty()) return;
  if (--references(x_ledger, ref) == 0) x_ledger.drop(ref);
}

Ref Checker::keep(const Record& record) {
  const std::lock_guard lock(x_mutex);
  std::vector<std::uint32_t> words = {record.writer, static_cast<std::uint32_t>(record.scope), record.place};
  for (const Record::Release& each : record.releases)
    words.insert(words.end(), {static_cast<std::uint32_t>(each.scope), each.releaser, each.time, keep(each.clock)});
  const Ref ref = x_ledger.keep(words);
  if (ref != 0) x_records.at(x_ledger, ref) = std::make_shared<Record>(record);
  return ref;
}

void Checker::replace(Ref& ref, Ref by) {
  const Ref before = std::exchange(ref, by);
  if (before == 0) return;
  const std::span<const std::uint32_t> words = std::as_const(x_ledger).words(before);
  for (std::size_t i = 3; i + 3 < words.size(); i += 4) drop_clock(words[i + 3]);
  x_ledger.drop(before);
}

PlaceId Checker::add_place(const Kernel& kernel, std::uint32_t index) {
  const std::lock_guard lock(x_mutex);
  const Kernel::Place& from = kernel.places[index];
  Ledger::Place place;
  place.line = from.line;
  if (from.line != 0 && from.file < kernel.files.size()) set_text(place.file, kernel.files[from.file], true);
  if (from.inner_line != 0 && from.inner_file < kernel.files.size()) {
    const std::string& inner = kernel.files[from.inner_file];
    set_text(place.inner, fmt::format("{}:{}", inner.substr(inner.rfind('/') + 1), from.inner_line), true);
  }
  set_text(place.opcode, from.opcode, false);
  return x_ledger.add_place(place);
}

bool Checker::report(Fault::Kind kind, PlaceId a, PlaceId b, const std::function<Fault()>& fault) {
  {
    const std::lock_guard lock(x_mutex);
    if (x_reported.size() >= kMostReports || !x_reported.emplace(kind, std::min(a, b), std::max(a, b)).second)
      return false;
  }
  x_report(fault());
  return true;
}

}  // namespace pkb::virtual_gpu::check
