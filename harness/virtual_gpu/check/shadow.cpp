// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/check/shadow.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "harness/process/memory_file.h"

namespace pkb::virtual_gpu::check {
namespace {

constexpr std::size_t kPage = 4096;

/// Few pages stay, since to get them anew costs more than to clear them; many go back to the system.
void clear_pages(std::byte* first, std::size_t count) {
  constexpr std::size_t kMost = 4096;
  if (count == 0) return;
  std::vector<unsigned char> present(count <= kMost ? count : 0);
  if (present.empty() || ::mincore(first, count * kPage, present.data()) != 0) {
    ::madvise(first, count * kPage, MADV_REMOVE);
    return;
  }
  for (std::size_t i = 0; i < count; ++i)
    if ((present[i] & 1) != 0) std::memset(first + i * kPage, 0, kPage);
}

/// Calls `each` with the index of every word of 64 bits that has some of [offset, offset + bytes), and with
/// these.
template <class Each>
void for_words(std::uint64_t offset, std::uint64_t bytes, Each each) {
  for (const std::uint64_t end = offset + bytes; offset < end;) {
    const std::uint64_t from = offset % 64, count = std::min(64 - from, end - offset);
    each(offset / 64, (~std::uint64_t{0} >> (64 - count)) << from);
    offset += count;
  }
}

}  // namespace

Shadow::Shadow(Kind kind, std::string name, std::uint64_t bytes, int owner, Sector* sectors)
    : x_kind(kind),
      x_name(std::move(name)),
      x_bytes(bytes),
      x_owner(owner),
      x_sectors(kind == Kind::input ? nullptr : sectors),
      x_own_sectors(sectors == nullptr && kind != Kind::input) {
  if (x_own_sectors) {
    // Shared, though nobody shares it: of private memory also what is never touched would count against what
    // the process may have.
    const std::uint64_t size = std::max(sector_bytes(bytes), sizeof(Sector));
    const FileDescriptor file = process::memory_file(size);
    void* const memory =
        file ? ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file.get(), 0)
             : MAP_FAILED;
    if (memory == MAP_FAILED) throw std::bad_alloc();
    x_sectors = static_cast<Sector*>(memory);
  }
  if (tracks_initialisation()) x_written.resize((bytes + 63) / 64);
}

Shadow::~Shadow() {
  if (x_own_sectors) ::munmap(x_sectors, std::max(sector_bytes(x_bytes), sizeof(Sector)));
}

void Shadow::clear() {
  if (x_sectors == nullptr) return;
  auto* const first = reinterpret_cast<std::byte*>(x_sectors);
  std::byte* const end = first + sector_bytes(x_bytes);
  std::byte* const from = std::min(end, first + (~reinterpret_cast<std::uintptr_t>(first) + 1) % kPage);
  std::byte* const to = std::max(from, end - reinterpret_cast<std::uintptr_t>(end) % kPage);
  // What shares a page with a neighbour is cleared by itself.
  std::memset(first, 0, static_cast<std::size_t>(from - first));
  std::memset(to, 0, static_cast<std::size_t>(end - to));
  clear_pages(from, static_cast<std::size_t>(to - from) / kPage);
}

void Shadow::mark_written(std::uint64_t offset, std::uint64_t bytes) {
  // Blocks of several host threads write neighbouring bytes.
  for_words(offset, bytes, [&](std::uint64_t word, std::uint64_t bits) {
    const std::atomic_ref known(x_written[word]);
    if ((known.load(std::memory_order_relaxed) & bits) != bits)
      known.fetch_or(bits, std::memory_order_relaxed);
  });
}

bool Shadow::is_written(std::uint64_t offset, std::uint64_t bytes) const {
  bool all = true;
  for_words(offset, bytes, [&](std::uint64_t word, std::uint64_t bits) {
    all &= (std::atomic_ref(const_cast<std::uint64_t&>(x_written[word])).load(std::memory_order_relaxed) &
            bits) == bits;
  });
  return all;
}

}  // namespace pkb::virtual_gpu::check
