// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/exec/tensor_map.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <optional>
#include <random>

#include <gtest/gtest.h>

namespace pkb::virtual_gpu {
namespace {

using Type = TensorMap::Type;
using Interleave = TensorMap::Interleave;
using Swizzle = TensorMap::Swizzle;
using Atom = TensorMap::Atom;

constexpr std::uint64_t kBase = 1 << 20;

/// A dense tensor of `sizes` elements.
TensorMap dense(Type type, std::vector<std::uint32_t> sizes, std::vector<std::uint16_t> box) {
  TensorMap map;
  map.address = kBase;
  map.type = type;
  map.rank = static_cast<std::uint8_t>(sizes.size());
  std::uint64_t stride = bytes_of(type);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    map.last[i] = sizes[i] - 1;
    map.box[i] = i < box.size() ? box[i] : 1;
    map.step[i] = 1;
    stride *= sizes[i];
    if (i + 1 < sizes.size()) map.stride[i] = stride;
  }
  return map;
}

TensorMap images(std::vector<std::uint32_t> sizes, std::uint16_t channels, std::uint16_t pixels,
                 std::vector<std::int16_t> lower, std::vector<std::int16_t> upper) {
  TensorMap map = dense(Type::u8, std::move(sizes), {});
  map.mode = TensorMap::Mode::im2col;
  map.channels = channels;
  map.pixels = pixels;
  std::copy(lower.begin(), lower.end(), map.lower.begin());
  std::copy(upper.begin(), upper.end(), map.upper.begin());
  return map;
}

/// Where each byte of the box in shared memory comes from; nothing for bytes outside of the tensor.
using Bytes = std::map<std::uint64_t, std::optional<std::uint64_t>>;

Bytes bytes_of_pieces(const TensorMap& map, const TensorBox& box) {
  Bytes bytes;
  for (const TensorPiece& piece : pieces_of(map, box))
    for (std::uint32_t i = 0; i < piece.bytes; ++i) {
      const bool fresh = bytes
                             .emplace(box.shared_address + piece.shared + i,
                                      piece.inside ? std::optional(piece.global + i) : std::nullopt)
                             .second;
      EXPECT_TRUE(fresh) << "a byte of shared memory written twice";
    }
  return bytes;
}

/// Swizzle<B, M, S> of CuTe: bits M + S ... of an address, B of them, are added without carry to bits M ...
std::uint64_t cute_swizzle(unsigned b, unsigned m, unsigned s, std::uint64_t address) {
  const std::uint64_t high = ((1ull << b) - 1) << (m + s);
  return address ^ (address & high) >> s;
}

std::uint64_t cute_swizzle(const TensorMap& map, std::uint64_t address) {
  switch (map.swizzle) {
    case Swizzle::none:
      return address;
    case Swizzle::bytes_32:
      return cute_swizzle(1, 4, 3, address);
    case Swizzle::bytes_64:
      return cute_swizzle(2, 4, 3, address);
    case Swizzle::bytes_128:
      if (map.atom == Atom::bytes_16) return cute_swizzle(3, 4, 3, address);
      if (map.atom == Atom::bytes_32) return cute_swizzle(2, 5, 2, address);
      if (map.atom == Atom::bytes_64) return cute_swizzle(1, 6, 1, address);
      break;
  }
  ADD_FAILURE();
  return 0;
}

/// The same by definition, element by element, of a tensor that is not interleaved.
Bytes expected_tile(const TensorMap& map, const TensorBox& box) {
  static constexpr std::uint64_t kSpans[] = {0, 32, 64, 128};
  const std::uint64_t size = bytes_of(map.type);
  const std::uint64_t pitch =
      std::max<std::uint64_t>(map.box[0] * size, kSpans[static_cast<std::size_t>(map.swizzle)]);
  Bytes bytes;
  std::array<int, 5> count{1, 1, 1, 1, 1};
  count[0] = map.box[0];
  for (std::size_t d = 1; d < map.rank; ++d)
    for (count[d] = 0; count[d] * map.step[d] < map.box[d];) ++count[d];
  std::uint64_t row = 0;
  for (int e = 0; e < count[4]; ++e)
    for (int d = 0; d < count[3]; ++d)
      for (int c = 0; c < count[2]; ++c)
        for (int b = 0; b < count[1]; ++b, ++row)
          for (int a = 0; a < count[0]; ++a) {
            const int index[] = {a, b, c, d, e};
            bool inside = true;
            std::int64_t global = static_cast<std::int64_t>(map.address);
            for (std::size_t i = 0; i < map.rank; ++i) {
              const std::int64_t at =
                  box.coordinates[i] + std::int64_t{index[i]} * (i == 0 ? 1 : map.step[i]);
              inside &= at >= 0 && at < map.size(static_cast<int>(i));
              global += at * static_cast<std::int64_t>(i == 0 ? size : map.stride[i - 1]);
            }
            for (std::uint64_t k = 0; k < size; ++k)
              bytes[cute_swizzle(
                  map, box.shared_address + row * pitch + static_cast<std::uint64_t>(a) * size + k)] =
                  inside ? std::optional(static_cast<std::uint64_t>(global) + k) : std::nullopt;
          }
  return bytes;
}

TEST(TensorMap, BoxInsideIsRowsInOrder) {
  // 8 x 4 of a 32 x 8 u32 tensor at (4, 2): rows of 32 bytes, 128 bytes apart, from 2 * 128 + 16 on.
  const TensorMap map = dense(Type::u32, {32, 8}, {8, 4});
  ASSERT_EQ(problem_of(map), nullptr);
  const std::vector<TensorPiece> expected = {{kBase + 272, 0, 32, true},
                                             {kBase + 400, 32, 32, true},
                                             {kBase + 528, 64, 32, true},
                                             {kBase + 656, 96, 32, true}};
  EXPECT_EQ(pieces_of(map, {.coordinates = {4, 2}}), expected);
  EXPECT_EQ(box_bytes(map), 128u);
  EXPECT_EQ(box_extent(map), 128u);
}

TEST(TensorMap, BoxAcrossTheCornersIsPartlyOutside) {
  const TensorMap map = dense(Type::u32, {32, 8}, {8, 2});
  const std::vector<TensorPiece> before = {
      {0, 0, 32, false}, {0, 32, 12, false}, {kBase, 44, 20, true}};  // row -1, then 3 elements before row 0
  EXPECT_EQ(pieces_of(map, {.coordinates = {-3, -1}}), before);
  const std::vector<TensorPiece> behind = {
      {kBase + 7 * 128 + 29 * 4, 0, 12, true}, {0, 12, 20, false}, {0, 32, 32, false}};
  EXPECT_EQ(pieces_of(map, {.coordinates = {29, 7}}), behind);
  const std::vector<TensorPiece> far = {{0, 0, 32, false}, {0, 32, 32, false}};
  EXPECT_EQ(pieces_of(map, {.coordinates = {-2147483647 - 1, 0}}), far);
  EXPECT_EQ(pieces_of(map, {.coordinates = {2147483647, 2147483647}}), far);
}

TEST(TensorMap, StepsLoadFewerRows) {
  TensorMap map = dense(Type::u32, {4, 10}, {4, 5});
  map.step[0] = 4;  // without interleaving it means nothing
  map.step[1] = 2;
  const std::vector<TensorPiece> expected = {
      {kBase + 7 * 16, 0, 16, true}, {kBase + 9 * 16, 16, 16, true}, {0, 32, 16, false}};
  EXPECT_EQ(pieces_of(map, {.coordinates = {0, 7}}), expected);
  EXPECT_EQ(box_bytes(map), 48u);
}

// The tables of PTX ISA 5.5.7: where the 16-byte chunks of each 128-byte line go.
TEST(TensorMap, SwizzlesAsTheTablesOfTheIsaSay) {
  struct Table {
    Swizzle swizzle;
    Atom atom;
    std::vector<std::string> lines;  ///< digit i is the chunk of the unswizzled line that lies at place i
  };
  const Table tables[] = {
      {Swizzle::none, Atom::bytes_16, {"01234567"}},
      {Swizzle::bytes_32, Atom::bytes_16, {"01234567", "10325476"}},
      {Swizzle::bytes_64, Atom::bytes_16, {"01234567", "10325476", "23016745", "32107654"}},
      {Swizzle::bytes_128,
       Atom::bytes_16,
       {"01234567", "10325476", "23016745", "32107654", "45670123", "54761032", "67452301", "76543210"}},
      {Swizzle::bytes_128, Atom::bytes_32, {"01234567", "23016745", "45670123", "67452301"}},
      {Swizzle::bytes_128, Atom::bytes_64, {"01234567", "45670123"}},
  };
  for (const Table& table : tables) {
    TensorMap map;
    map.swizzle = table.swizzle;
    map.atom = table.atom;
    for (std::uint64_t line = 0; line < 24; ++line)
      for (std::uint64_t place = 0; place < 8; ++place) {
        const auto chunk = static_cast<std::uint64_t>(table.lines[line % table.lines.size()][place] - '0');
        EXPECT_EQ(swizzled(map, line * 128 + chunk * 16 + 5), line * 128 + place * 16 + 5);
      }
  }
}

TEST(TensorMap, FlippedAtomsExchangeTheHalvesOfChunksInEveryOtherLine) {
  TensorMap map;
  map.swizzle = Swizzle::bytes_128;
  map.atom = Atom::bytes_32_flipped;
  EXPECT_EQ(swizzled(map, 0), 0u);
  EXPECT_EQ(swizzled(map, 24), 24u);
  EXPECT_EQ(swizzled(map, 128), 128u + 32 + 8);
  EXPECT_EQ(swizzled(map, 128 + 8), 128u + 32);
  EXPECT_EQ(swizzled(map, 256 + 8), 256u + 64 + 8);
  EXPECT_EQ(swizzled(map, 384 + 16), 384u + 96 + 16 + 8);
}

// Any map and box, against the definition.
TEST(TensorMap, TilesAreWhatTheDefinitionSays) {
  std::mt19937 bits(7);
  const auto draw = [&bits](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(bits);
  };
  int swizzles = 0, outside = 0;
  for (int round = 0; round < 400; ++round) {
    const Type types[] = {Type::u8, Type::f16, Type::f32, Type::f64};
    const Type type = types[draw(0, 3)];
    const auto size = static_cast<int>(bytes_of(type));
    const auto rank = static_cast<std::size_t>(draw(1, 5));
    TensorMap map;
    map.address = kBase + 16 * static_cast<std::uint64_t>(draw(0, 3));
    map.type = type;
    map.rank = static_cast<std::uint8_t>(rank);
    map.swizzle = static_cast<Swizzle>(draw(0, 3));
    if (map.swizzle == Swizzle::bytes_128) {
      const Atom atoms[] = {Atom::bytes_16, Atom::bytes_32, Atom::bytes_64};
      map.atom = atoms[draw(0, 2)];
    }
    const int span = map.swizzle == Swizzle::none ? 144 : 16 << static_cast<int>(map.swizzle);
    std::uint64_t stride = 0;
    TensorBox box;
    box.shared_address = 128 * static_cast<std::uint32_t>(draw(0, 9));
    for (std::size_t i = 0; i < rank; ++i) {
      const int length = draw(1, i == 0 ? 100 : 6);
      map.last[i] = static_cast<std::uint32_t>(length - 1);
      map.box[i] = static_cast<std::uint16_t>(i == 0 ? 16 * draw(1, span / 16) / size : draw(1, 5));
      map.step[i] = static_cast<std::uint16_t>(draw(1, 3));
      stride = i == 0 ? static_cast<std::uint64_t>((length * size + 15) / 16 * 16)
                      : stride * static_cast<std::uint64_t>(length + draw(0, 1));
      if (i + 1 < rank) map.stride[i] = stride;
      box.coordinates[i] = draw(-4, length);
    }
    ASSERT_EQ(problem_of(map), nullptr);
    const Bytes expected = expected_tile(map, box);
    ASSERT_EQ(bytes_of_pieces(map, box), expected) << "round " << round;
    EXPECT_EQ(box_bytes(map), expected.size());
    EXPECT_LT(expected.rbegin()->first - box.shared_address, box_extent(map));
    swizzles += map.swizzle != Swizzle::none;
    outside += std::any_of(expected.begin(), expected.end(), [](const auto& byte) { return !byte.second; });
  }
  EXPECT_GT(swizzles, 200);
  EXPECT_GT(outside, 100);
}

TEST(TensorMap, InterleavedTensorsCountSlices) {
  // NC/8HWC8 of f16: 2 images, 3 slices of 8 channels, 4 x 5 pixels. A slice of a pixel is 16 bytes.
  // Of slices a box has one.
  TensorMap map = dense(Type::f16, {5, 4, 3, 2}, {8, 2, 2, 1});
  map.interleave = Interleave::bytes_16;
  map.stride = {5 * 16, 4 * 5 * 16, 3 * 4 * 5 * 16};
  map.step[0] = 4;
  ASSERT_EQ(problem_of(map), nullptr);
  const std::uint64_t slice = kBase + 3 * 4 * 5 * 16 + 1 * 4 * 5 * 16 + 2 * 5 * 16;  // image 1, slice 1, H 2
  const std::vector<TensorPiece> expected = {{slice + 3 * 16, 0, 16, true},
                                             {0, 16, 16, false},
                                             {slice + 5 * 16 + 3 * 16, 32, 16, true},
                                             {0, 48, 16, false}};
  EXPECT_EQ(pieces_of(map, {.coordinates = {3, 2, 1, 1}}), expected);
}

TEST(TensorMap, ColumnsWalkThroughTheBoundingBox) {
  // 16 channels, W 4, H 3, 2 images, corners of a 2 x 2 filter without padding: the base is in 3 x 2.
  const TensorMap map = images({16, 4, 3, 2}, 16, 8, {0, 0}, {-1, -1});
  ASSERT_EQ(problem_of(map), nullptr);
  const auto pixel = [](std::uint64_t w, std::uint64_t h, std::uint64_t n) {
    return kBase + ((n * 3 + h) * 4 + w) * 16;
  };
  const std::uint64_t addresses[] = {pixel(1, 1, 0), pixel(2, 1, 0), pixel(3, 1, 0), pixel(1, 2, 0),
                                     pixel(2, 2, 0), pixel(3, 2, 0), pixel(1, 1, 1), pixel(2, 1, 1)};
  const TensorBox box = {.coordinates = {0, 0, 0, 0}, .offsets = {1, 1}};
  const auto pieces = pieces_of(map, box);
  ASSERT_EQ(pieces.size(), 8u);
  for (std::uint32_t i = 0; i < 8; ++i)
    EXPECT_EQ(pieces[i], (TensorPiece{addresses[i], 16 * i, 16, true})) << i;
  EXPECT_TRUE(in_bounding_box(map, box));
  EXPECT_FALSE(in_bounding_box(map, {.coordinates = {0, 3, 0, 0}}));
  EXPECT_FALSE(in_bounding_box(map, {.coordinates = {0, 0, -1, 0}}));
}

// All bases of all images written out in order; a column is what follows its first base there.
TEST(TensorMap, ColumnsAreASectionOfAllBases) {
  std::mt19937 bits(11);
  const auto draw = [&bits](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(bits);
  };
  for (int round = 0; round < 200; ++round) {
    const int spatial = draw(1, 3), pixels = draw(1, 60), channels = 16 * draw(1, 3);
    std::vector<std::uint32_t> sizes = {static_cast<std::uint32_t>(16 * draw(1, 4))};
    std::vector<std::int16_t> lower, upper;
    for (int i = 0; i < spatial; ++i) {
      sizes.push_back(static_cast<std::uint32_t>(draw(3, 7)));
      lower.push_back(static_cast<std::int16_t>(draw(-2, 1)));
      upper.push_back(static_cast<std::int16_t>(draw(-1, 2)));
    }
    sizes.push_back(3);
    TensorMap map =
        images(sizes, static_cast<std::uint16_t>(channels), static_cast<std::uint16_t>(pixels), lower, upper);
    for (int i = 0; i < spatial; ++i)
      map.step[static_cast<std::size_t>(i) + 1] = static_cast<std::uint16_t>(draw(1, 3));
    ASSERT_EQ(problem_of(map), nullptr);
    std::vector<std::array<int, 4>> bases;  // W, H, D, N
    const auto begin = [&](int i) { return i < spatial ? lower[static_cast<std::size_t>(i)] : 0; };
    const auto end = [&](int i) {
      const auto at = static_cast<std::size_t>(i);
      return i < spatial ? static_cast<int>(sizes[at + 1]) + upper[at] : 1;
    };
    const auto step = [&](int i) { return i < spatial ? map.step[static_cast<std::size_t>(i) + 1] : 1; };
    for (int n = 0; n < 70; ++n)
      for (int d = begin(2); d < end(2); d += step(2))
        for (int h = begin(1); h < end(1); h += step(1))
          for (int w = begin(0); w < end(0); w += step(0)) bases.push_back({w, h, d, n});
    const auto of_image = bases.size() / 70;
    const auto first = static_cast<std::size_t>(draw(0, static_cast<int>(2 * of_image)));
    TensorBox box;
    box.coordinates[0] = draw(-1, 2) * 8;
    for (int i = 0; i < spatial; ++i) {
      const auto at = static_cast<std::size_t>(i);
      box.coordinates[at + 1] = bases[first][at];
      box.offsets[at] = static_cast<std::uint16_t>(draw(0, 2));
    }
    box.coordinates[static_cast<std::size_t>(spatial) + 1] = bases[first][3];
    Bytes expected;
    for (int p = 0; p < pixels; ++p)
      for (int c = 0; c < channels; ++c) {
        const auto& base = bases[first + static_cast<std::size_t>(p)];
        const int channel = box.coordinates[0] + c;
        bool inside = channel >= 0 && channel < static_cast<int>(sizes[0]) && base[3] < 3;
        std::int64_t index = base[3];
        for (int i = spatial - 1; i >= 0; --i) {
          const auto at = static_cast<std::size_t>(i);
          const int coordinate = base[at] + box.offsets[at];
          inside &= coordinate >= 0 && coordinate < static_cast<int>(sizes[at + 1]);
          index = index * sizes[at + 1] + coordinate;
        }
        index = index * sizes[0] + channel;
        expected[static_cast<std::uint64_t>(p * channels + c)] =
            inside ? std::optional(kBase + static_cast<std::uint64_t>(index)) : std::nullopt;
      }
    ASSERT_EQ(bytes_of_pieces(map, box), expected) << "round " << round;
    EXPECT_EQ(box_bytes(map), static_cast<std::uint32_t>(pixels * channels));
  }
}

TEST(TensorMap, SaysWhatIsWrong) {
  const auto problem = [](auto change) {
    TensorMap map = dense(Type::f16, {64, 8, 8}, {32, 8, 8});
    map.swizzle = Swizzle::bytes_64;
    EXPECT_EQ(problem_of(map), nullptr);
    change(map);
    const char* text = problem_of(map);
    return std::string(text != nullptr ? text : "");
  };
  EXPECT_EQ(problem([](TensorMap& map) { map.mark = 0; }), "it is no tensor map");
  EXPECT_EQ(problem([](TensorMap& map) { map.rank = 6; }), "a tensor has 1 to 5 dimensions");
  EXPECT_NE(problem([](TensorMap& map) { map.address += 8; }), "");
  EXPECT_NE(problem([](TensorMap& map) { map.stride[1] += 8; }), "");
  EXPECT_NE(problem([](TensorMap& map) { map.stride[1] = 1ull << 40; }), "");
  EXPECT_NE(problem([](TensorMap& map) { map.step[2] = 9; }), "");
  EXPECT_NE(problem([](TensorMap& map) { map.box[2] = 257; }), "");
  EXPECT_NE(problem([](TensorMap& map) { map.box[0] = 31; }), "");
  EXPECT_NE(problem([](TensorMap& map) { map.swizzle = Swizzle::bytes_32; }), "");
  EXPECT_NE(problem([](TensorMap& map) { map.interleave = Interleave::bytes_32; }), "");
  EXPECT_NE(problem([](TensorMap& map) { map.type = Type::u16, map.fill = TensorMap::Fill::nan; }), "");
  EXPECT_NE(problem([](TensorMap& map) { map.atom = Atom::bytes_32; }), "");
}

TEST(TensorMap, FillsWithZerosOrTheSpecialNan) {
  TensorMap map;
  map.type = Type::f32;
  std::array<std::byte, 8> bytes;
  bytes.fill(std::byte{1});
  fill(map, bytes);
  EXPECT_EQ(std::bit_cast<std::uint64_t>(bytes), 0u);
  map.fill = TensorMap::Fill::nan;
  fill(map, bytes);
  EXPECT_EQ(std::bit_cast<std::uint64_t>(bytes), 0x7ff77ff77ff77ff7u);
}

TEST(TensorMap, RoundsTf32ToTenBitsOfFraction) {
  const auto rounded = [](std::uint32_t bits) {
    round_to_tf32(reinterpret_cast<std::byte*>(&bits), sizeof bits);
    return bits;
  };
  EXPECT_EQ(rounded(0x3f800000), 0x3f800000u);
  EXPECT_EQ(rounded(0x3f800fff), 0x3f800000u);  // below half
  EXPECT_EQ(rounded(0x3f801000), 0x3f800000u);  // half, to even
  EXPECT_EQ(rounded(0x3f803000), 0x3f804000u);
  EXPECT_EQ(rounded(0xbf801001), 0xbf802000u);
  EXPECT_EQ(rounded(0x7f800000), 0x7f800000u);
  EXPECT_EQ(rounded(0xffc00001), 0x7fffe000u);
}

}  // namespace
}  // namespace pkb::virtual_gpu
