// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/check/checker.h"

#include <algorithm>
#include <array>
#include <bit>
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
      x_in_clusters(launch.cluster.count() > 1),
      x_knows_start(checker.knows_start(*start)),
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

PlaceId Grid::new_place(std::uint32_t index) {
  const PlaceId id = x_checker.add_place(*x_kernel, index);
  (*x_places)[index] = id;
  return id;
}

Checker::Checker(std::vector<std::byte*> ledger_parts, int rank, std::function<void(Fault)> report)
    : x_ledger(std::move(ledger_parts), rank), x_report(std::move(report)) {}

void Checker::begin_run() {
  const std::lock_guard lock(x_mutex);
  x_running = true;
  x_start = {};
}

ClockPtr Checker::open() {
  const std::lock_guard lock(x_mutex);
  Ledger::Launch entry;
  set_text(entry.name, "the start of the run", false);
  auto clock = std::make_shared<Clock>();
  if (const auto block = x_ledger.add_launch(entry, 1)) {
    x_start = Stamp::of(thread_of(*block, 0, 0), 1);
    clock->add_ended(*block, *block + 1);
  }
  return clock;
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
  set_extents(entry.cluster, launch.cluster);
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
    block.global({.kind = each.writes ? Access::Kind::write : Access::Kind::peek}, *each.shadow,
                 Run{.offset = each.offset, .bytes = each.bytes});
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
    bool is_reported = false;
    for (std::uint64_t i = 0; i < shadow->sector_count() && !is_reported; ++i)
      Entries(x_ledger, shadow->sectors()[i].write).change_each([&](const Entry& entry) {
        if (is_reported || rank_of(block_of(entry.stamp.thread())) == static_cast<std::uint32_t>(rank()) ||
            end->knows_warp(entry.stamp))
          return;
        for (Bytes left = entry.bytes; left != 0; left &= left - 1) {
          const int byte = std::countr_zero(left);
          const Stamp write = entry.at(byte);
          if (end->knows(write)) continue;
          is_reported = true;
          Fault fault = fault_at(x_ledger, Fault::Kind::late_write, entry.place, write);
          fault.text = fmt::format(
              "rank {} may end its run while {} is still written: nothing orders byte {} of it, {}, before the end", rank(),
              shadow->name(), i * kSector + static_cast<std::uint64_t>(byte), describe(x_ledger, write, entry.place));
          return x_report(std::move(fault));
        }
      });
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

void Checker::drop(Ref record) {
  const std::span<const std::uint32_t> words = std::as_const(x_ledger).words(record);
  for (std::size_t i = 3; i + 3 < words.size(); i += 4) drop_clock(words[i + 3]);
  x_ledger.drop(record);
}

void Checker::tell(Sector& sector, std::uint64_t offset, Ref record) {
  constexpr std::array<std::uint32_t, kSector / kGranule> kNone{};
  if (sector.records == 0 && record != 0) sector.records = x_ledger.keep(kNone);
  const std::span<std::uint32_t> records = x_ledger.words(sector.records);
  if (records.size() != kNone.size()) return;
  const Ref before = std::exchange(records[offset % kSector / kGranule], record);
  if (before != 0) drop(before);
}

RecordPtr Checker::told(const Sector& sector, std::uint64_t offset) {
  if (sector.records == 0) return nullptr;
  const std::span<const std::uint32_t> records = std::as_const(x_ledger).words(sector.records);
  const std::size_t granule = offset % kSector / kGranule;
  return granule < records.size() && records[granule] != 0 ? record(records[granule]) : nullptr;
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
  // An unrolled loop has a line's instruction many times.
  PlaceId& known = x_place_ids[fmt::format("{}\n{}\n{}\n{}", place.file, place.line, place.inner, place.opcode)];
  if (known == 0) known = x_ledger.add_place(place);
  return known;
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
