// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/check/shadow.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <utility>

#include "harness/process/memory_file.h"

namespace pkb::virtual_gpu::check {

Shadow::Shadow(Kind kind, std::string name, std::uint64_t bytes, int owner, Cell* cells)
    : x_kind(kind),
      x_name(std::move(name)),
      x_bytes(bytes),
      x_owner(owner),
      x_cells(cells),
      x_own_cells(cells == nullptr && kind != Kind::input) {
  if (x_own_cells) {
    // Shared, though nobody shares it: of private memory also what is never touched would count against what the
    // process may have.
    const std::uint64_t size = std::max<std::uint64_t>(granules(), 1) * sizeof(Cell);
    const FileDescriptor file = process::memory_file(size);
    void* const memory =
        file ? ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file.get(), 0) : MAP_FAILED;
    if (memory == MAP_FAILED) throw std::bad_alloc();
    x_cells = static_cast<Cell*>(memory);
  }
  if (tracks_initialisation()) x_written.resize((bytes + 7) / 8);
}

Shadow::~Shadow() {
  if (x_own_cells) ::munmap(x_cells, std::max<std::uint64_t>(granules(), 1) * sizeof(Cell));
}

void Shadow::clear() {
  if (x_cells == nullptr) return;
  // Whole pages go back to the system; what shares a page with a neighbour is cleared by hand.
  const auto first = reinterpret_cast<std::uintptr_t>(x_cells), end = first + granules() * sizeof(Cell);
  const std::uintptr_t from = (first + 4095) / 4096 * 4096, to = end / 4096 * 4096;
  if (from >= to) {
    std::fill_n(x_cells, granules(), Cell{});
    return;
  }
  std::fill(x_cells, reinterpret_cast<Cell*>(from), Cell{});
  std::fill(reinterpret_cast<Cell*>(to), x_cells + granules(), Cell{});
  ::madvise(reinterpret_cast<void*>(from), to - from, MADV_REMOVE);
}

void Shadow::mark_written(std::uint64_t offset, std::uint64_t bytes) {
  for (std::uint64_t i = offset; i < offset + bytes;) {
    if (i % 8 == 0 && offset + bytes - i >= 8) {
      x_written[i / 8] = 0xff;
      i += 8;
    } else {
      x_written[i / 8] = static_cast<std::uint8_t>(x_written[i / 8] | 1u << i % 8);
      ++i;
    }
  }
}

bool Shadow::is_written(std::uint64_t offset, std::uint64_t bytes) const {
  for (std::uint64_t i = offset; i < offset + bytes;) {
    if (i % 8 == 0 && offset + bytes - i >= 8) {
      if (x_written[i / 8] != 0xff) return false;
      i += 8;
    } else {
      if ((x_written[i / 8] >> i % 8 & 1) == 0) return false;
      ++i;
    }
  }
  return true;
}

}  // namespace pkb::virtual_gpu::check
