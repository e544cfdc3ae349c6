// SPDX-License-Identifier: Apache-2.0
// The container in which nvcc embeds device code. NVIDIA does not document it; the layout below is what
// nvcc 13.0 writes with each of its --compress-mode values. One header, then entries, each a header and a
// payload.
#include <fmt/format.h>
#include <lz4.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "harness/virtual_gpu/ptx/module.h"

namespace pkb::virtual_gpu::ptx {
namespace {

struct Header {
  std::uint32_t magic;
  std::uint16_t version, header_bytes;
  std::uint64_t entry_bytes;  // of all entries, this header not counted
};

struct Entry {
  std::uint16_t kind, version;
  std::uint32_t header_bytes;
  std::uint64_t payload_bytes;     // padded
  std::uint32_t compressed_bytes;  // not padded; 0 when not compressed
  std::uint32_t options_offset;
  std::uint16_t minor, major;
  std::uint32_t architecture;
  std::uint32_t name_offset, name_bytes;
  std::uint64_t flags;
  std::uint64_t reserved;
  std::uint64_t plain_bytes;  // decompressed
};

constexpr std::uint32_t kMagic = 0xBA55ED50;
constexpr std::uint16_t kPtx = 1;
constexpr std::uint64_t kLz4 = 0x2000,
                        kZstd = 0x8000;  // flags: --compress-mode=speed; =balance, the default, and =size
constexpr std::uint64_t kMostText = std::uint64_t(1) << 30;
constexpr std::uint64_t kMostRatio = 1024;  // of plain to compressed; text of nvcc's gets to about 50

template <class T>
T read(std::span<const std::byte> bytes, std::string_view what) {
  if (bytes.size() < sizeof(T)) throw ParseError(fmt::format("fat binary: {} is cut off", what));
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

std::span<const std::byte> part(std::span<const std::byte> bytes, std::uint64_t offset, std::uint64_t size,
                                std::string_view what) {
  if (offset > bytes.size() || size > bytes.size() - offset)
    throw ParseError(fmt::format("fat binary: {} of {} bytes at {} passes the end at {}", what, size, offset,
                                 bytes.size()));
  return bytes.subspan(offset, size);
}

std::string decompress(std::span<const std::byte> packed, const Entry& entry) {
  // Zstandard packs a run of zeros tighter than that: a small image could ask for gigabytes again and again.
  if (entry.plain_bytes > std::min(kMostText, kMostRatio * packed.size()))
    throw ParseError(fmt::format("fat binary: PTX of {} bytes is too large", entry.plain_bytes));
  // Not a string yet, which would touch every byte of a size that nobody has confirmed.
  const auto text = std::make_unique_for_overwrite<char[]>(entry.plain_bytes);
  bool complete;
  if (entry.flags & kZstd) {
    const std::size_t size = ZSTD_decompress(text.get(), entry.plain_bytes, packed.data(), packed.size());
    complete = !ZSTD_isError(size) && size == entry.plain_bytes;
  } else {
    const int size = LZ4_decompress_safe(reinterpret_cast<const char*>(packed.data()), text.get(),
                                         int(packed.size()), int(entry.plain_bytes));
    complete = size >= 0 && std::size_t(size) == entry.plain_bytes;
  }
  if (!complete) throw ParseError("fat binary: compressed PTX is damaged");
  return {text.get(), entry.plain_bytes};
}

Header header_of(std::span<const std::byte> image) {
  const auto header = read<Header>(image, "header");
  if (header.magic != kMagic)
    throw ParseError(fmt::format("fat binary: magic is {:#x}, not {:#x}", header.magic, kMagic));
  if (header.header_bytes < sizeof(Header))
    throw ParseError(fmt::format("fat binary: header of {} bytes is too small", header.header_bytes));
  return header;
}

}  // namespace

std::vector<Embedded> extract_ptx(std::span<const std::byte> image) {
  const Header header = header_of(image);
  std::span<const std::byte> rest = part(image, header.header_bytes, header.entry_bytes, "list of entries");
  std::vector<Embedded> found;
  while (!rest.empty()) {
    const auto entry = read<Entry>(rest, "entry header");
    if (entry.header_bytes < sizeof(Entry))
      throw ParseError(fmt::format("fat binary: entry header of {} bytes is too small", entry.header_bytes));
    std::span<const std::byte> payload = part(rest, entry.header_bytes, entry.payload_bytes, "entry");
    if (entry.kind == kPtx) {
      std::string text;
      if (entry.flags & (kLz4 | kZstd))
        text = decompress(part(payload, 0, entry.compressed_bytes, "compressed PTX"), entry);
      else
        text.assign(reinterpret_cast<const char*>(payload.data()), payload.size());
      text.resize(std::strlen(text.c_str()));  // padding
      found.push_back({entry.architecture, std::move(text)});
    }
    rest = rest.subspan(entry.header_bytes + entry.payload_bytes);
  }
  return found;
}

std::size_t image_bytes(const void* image) {
  const Header header = header_of({static_cast<const std::byte*>(image), sizeof(Header)});
  return header.header_bytes + header.entry_bytes;
}

}  // namespace pkb::virtual_gpu::ptx
