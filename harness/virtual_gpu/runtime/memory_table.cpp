// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/runtime/memory_table.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace pkb::virtual_gpu {
namespace {

// Room behind every allocation that belongs to none, so that running over an end is seen even where the next
// allocation could be right there.
constexpr std::uint64_t kGap = 512;

// Fresh memory of a GPU holds anything. Zeros would hide a missing initialisation; filling more than this would
// make large, barely used allocations slow.
constexpr std::uint64_t kPoisoned = std::uint64_t{64} << 20;
constexpr int kPoison = 0xA5;

// What a real GPU's memory management maps with.
constexpr std::uint64_t kMappingAlign = std::uint64_t{2} << 20;

bool counts_as_device_memory(MemoryKind kind) {
  return kind == MemoryKind::device || kind == MemoryKind::managed || kind == MemoryKind::variable;
}

std::string_view allocator_of(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::device: return "cudaMalloc";
    case MemoryKind::pinned: return "cudaMallocHost";
    case MemoryKind::registered: return "cudaHostRegister";
    case MemoryKind::managed: return "managed variable";
    case MemoryKind::variable: return "variable";
    case MemoryKind::segment: return "segment";
    case MemoryKind::mapped: return "cuMemMap";
  }
  return "";
}

std::uint64_t address_of(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

}  // namespace

void MemoryTable::Free::operator()(void* storage) const { std::free(storage); }

MemoryTable::MemoryTable(Memory& memory, std::uint64_t capacity, int rank)
    : x_memory(memory), x_capacity(capacity), x_rank(rank) {}

void* MemoryTable::allocate(const Request& request) {
  std::lock_guard lock(x_mutex);
  const bool counted = counts_as_device_memory(request.kind);
  if (counted && request.bytes > x_capacity - x_used) return nullptr;
  const std::uint64_t align = std::max<std::uint64_t>(request.align, 512);
  const std::uint64_t room = (request.bytes + kGap + align - 1) / align * align;
  std::unique_ptr<void, Free> storage(std::aligned_alloc(align, room));
  if (!storage) return nullptr;
  const std::uint64_t here = address_of(storage.get());
  const std::uint64_t base = is_open_to_host(request.kind) ? here : x_window.take(room, align);
  if (base == 0) return nullptr;
  std::memset(storage.get(), kPoison, std::min(request.bytes, kPoisoned));
  const MemoryRange range{.base = base,
                          .bytes = request.bytes,
                          .kind = request.kind,
                          .flags = request.flags,
                          .to_host = here - base};
  ++x_numbered;
  std::string name = request.name;
  if (name.empty()) name = std::string(allocator_of(request.kind)) + " #" + std::to_string(x_numbered);
  const auto holds = request.kind == MemoryKind::device ? check::Shadow::Kind::scratch : check::Shadow::Kind::other;
  auto shadow = request.constant ? nullptr : watch(holds, name, range.bytes);
  x_memory.add({.base = range.base,
                .bytes = range.bytes,
                .name = std::move(name),
                .owner = x_rank,
                .constant = request.constant,
                .to_host = range.to_host,
                .shadow = std::move(shadow)});
  x_entries.emplace(range.base, Entry{range, std::move(storage)});
  if (counted) x_used += request.bytes;
  return reinterpret_cast<void*>(base);
}

bool MemoryTable::release(const void* base, MemoryKind kind) {
  std::lock_guard lock(x_mutex);
  const auto entry = x_entries.find(address_of(base));
  if (entry == x_entries.end() || !entry->second.storage || entry->second.range.kind != kind) return false;
  if (counts_as_device_memory(kind)) x_used -= entry->second.range.bytes;
  forget(entry->first);
  x_entries.erase(entry);
  return true;
}

void MemoryTable::forget(std::uint64_t base) {
  x_memory.remove(base);
  x_window.give_back(base);
}

void MemoryTable::release_all() {
  std::lock_guard lock(x_mutex);
  std::erase_if(x_entries, [&](const auto& entry) {
    if (!entry.second.storage) return false;
    if (counts_as_device_memory(entry.second.range.kind)) x_used -= entry.second.range.bytes;
    forget(entry.first);
    return true;
  });
}

void* MemoryTable::map(std::byte* bytes_here, std::uint64_t bytes) {
  std::lock_guard lock(x_mutex);
  const std::uint64_t base = x_window.take(bytes + kGap, kMappingAlign);
  if (base != 0) x_mappings.emplace(base, Mapping{bytes_here, bytes});
  return reinterpret_cast<void*>(base);
}

bool MemoryTable::unmap(const void* base) {
  std::lock_guard lock(x_mutex);
  if (x_mappings.erase(address_of(base)) == 0) return false;
  x_window.give_back(address_of(base));
  return true;
}

std::uint64_t MemoryTable::reserve(std::uint64_t bytes, std::uint64_t align) {
  std::lock_guard lock(x_mutex);
  return x_window.take(bytes, align);
}

void MemoryTable::unreserve(std::uint64_t base) {
  std::lock_guard lock(x_mutex);
  x_window.give_back(base);
}

bool MemoryTable::charge(std::uint64_t bytes) {
  std::lock_guard lock(x_mutex);
  if (bytes > x_capacity - x_used) return false;
  x_used += bytes;
  return true;
}

void MemoryTable::refund(std::uint64_t bytes) {
  std::lock_guard lock(x_mutex);
  x_used -= bytes;
}

void* MemoryTable::add_multicast(std::vector<std::uint64_t> replicas, std::uint64_t bytes, std::string name) {
  std::lock_guard lock(x_mutex);
  const std::uint64_t base = x_window.take(bytes + kGap, kMappingAlign);
  if (base == 0) return nullptr;
  x_memory.add({.base = base, .bytes = bytes, .name = std::move(name), .owner = x_rank, .shadow = nullptr, .replicas = std::move(replicas)});
  x_multicasts.insert(base);
  return reinterpret_cast<void*>(base);
}

bool MemoryTable::remove_multicast(const void* base) {
  std::lock_guard lock(x_mutex);
  if (x_multicasts.erase(address_of(base)) == 0) return false;
  forget(address_of(base));
  return true;
}

bool MemoryTable::add(MemoryRange range, std::string name, int owner, bool constant,
                      std::shared_ptr<check::Shadow> shadow) {
  std::lock_guard lock(x_mutex);
  if (overlaps(range.base, range.bytes)) return false;
  if (x_window.contains(range.base) && range.kind != MemoryKind::mapped) {
    auto mapping = x_mappings.upper_bound(range.base);
    if (mapping == x_mappings.begin()) return false;
    const auto& [base, mapped] = *--mapping;
    if (range.base - base > mapped.bytes || range.bytes > mapped.bytes - (range.base - base)) return false;
    range.to_host = address_of(mapped.bytes_here) - base;
  }
  x_memory.add({.base = range.base,
                .bytes = range.bytes,
                .name = std::move(name),
                .owner = owner,
                .constant = constant,
                .to_host = range.to_host,
                .shadow = std::move(shadow)});
  x_entries.emplace(range.base, Entry{range, nullptr});
  return true;
}

std::shared_ptr<check::Shadow> MemoryTable::watch(check::Shadow::Kind kind, const std::string& name,
                                                  std::uint64_t bytes) {
  if (x_checker == nullptr) return nullptr;
  auto shadow = std::make_shared<check::Shadow>(kind, name, bytes, x_rank, nullptr);
  x_checker->add(shadow);
  return shadow;
}

check::Checker::Touch MemoryTable::touch(const void* address, std::uint64_t bytes, bool writes) const {
  const auto all = x_memory.snapshot();
  const Allocation* const found = Memory::find(*all, address_of(address));
  if (found == nullptr || !found->shadow) return {};
  return {found->shadow, address_of(address) - found->base, bytes, writes};
}

bool MemoryTable::remove(const void* base, MemoryKind kind) {
  std::lock_guard lock(x_mutex);
  const auto entry = x_entries.find(address_of(base));
  if (entry == x_entries.end() || entry->second.storage || entry->second.range.kind != kind) return false;
  x_memory.remove(entry->first);
  x_entries.erase(entry);
  return true;
}

std::optional<MemoryRange> MemoryTable::find(const void* pointer) const {
  const std::uint64_t address = address_of(pointer);
  std::lock_guard lock(x_mutex);
  auto entry = x_entries.upper_bound(address);
  if (entry == x_entries.begin()) return std::nullopt;
  const MemoryRange& range = (--entry)->second.range;
  if (address - range.base >= range.bytes) return std::nullopt;
  return range;
}

std::vector<Allocation> MemoryTable::segments() const {
  const auto all = x_memory.snapshot();
  std::vector<Allocation> shared;
  std::lock_guard lock(x_mutex);
  for (const Allocation& each : *all) {
    const auto entry = x_entries.find(each.base);
    if (entry != x_entries.end() && entry->second.range.kind == MemoryKind::segment) shared.push_back(each);
  }
  return shared;
}

std::uint64_t MemoryTable::used() const {
  std::lock_guard lock(x_mutex);
  return x_used;
}

bool MemoryTable::overlaps(std::uint64_t base, std::uint64_t bytes) const {
  const auto next = x_entries.lower_bound(base);
  if (next != x_entries.end() && next->first - base < bytes) return true;
  if (next == x_entries.begin()) return false;
  const MemoryRange& before = std::prev(next)->second.range;
  return base - before.base < before.bytes;
}

}  // namespace pkb::virtual_gpu
